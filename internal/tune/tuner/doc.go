// Package tuner finds the fastest way to carry out a program on a device. It
// lets a strategy (package search) choose among the configurations of one
// kernel after the other, the most expensive kernel first, has them compiled
// ahead of the device, checked and timed (package measure), and at last times
// the whole plan side by side with the default and with what an expert would
// write.
package tuner
