// Package child runs other programs as children of this process: compilers,
// tools, and this program itself as a worker.
//
// A child ends when its parent does, however that ends. What it prints is
// bounded. How it ended is a Death, which tells its own end from one that was
// forced on it.
package child
