// Package omnitune repeats the validations of OmniTune (Cummins, Petoumenos, Steuwer and Leather 2018, sections 6 and
// 7) on scenarios that were measured for it: a kernel on a dataset on a device, with the time at each work-group size
// that was run. Models learn from scenarios of other kernels, datasets or devices, and pick a size for one that they
// have not seen. What the pick has of the fastest time is its performance. Recorded kernels are scenarios, too: of
// these it is known which sizes are refused.
package omnitune
