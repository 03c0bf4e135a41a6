// Package tuner finds the fastest plan of a program on a device. A strategy (package search) chooses
// configurations of one kernel after the other, the most expensive kernel first. A queue compiles them
// ahead of the device, and a lab (package measure) checks and times them. At the end whole plans are timed
// side by side: the best, the default, and what an expert would write.
package tuner
