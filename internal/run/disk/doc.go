// Package disk writes files that are whole or not there, and gives temporary
// folders that do not outlast their process.
//
// Whatever is temporary is locked while its process lives. So what a process has
// left that was killed can be told from what another one is using, and is removed
// the next time that something is written there.
package disk
