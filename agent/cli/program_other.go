//go:build !linux

package cli

// releaseProgram does nothing: it is implemented for Linux only.
func releaseProgram() (int64, error) { return 0, nil }
