// Package worker runs services in child processes, so that what they run may
// crash, hang or spoil its process without harm to the parent.
//
// A worker is the same program once more, started with a hidden first
// argument, by which Main, called first thing in main, knows it. Parent and
// worker exchange values over two pipes; large data lies in files that the
// parent hands down. A worker ends when its parent does.
package worker
