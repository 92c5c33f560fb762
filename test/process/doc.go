// Package process runs the built programs for tests and the demo in one of two ways: attached, so that they cannot
// outlive the process that started them, however it ends; or detached, in their own session, to be found again by a pid
// file.
package process
