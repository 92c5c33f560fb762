//go:build !linux

package memory

// ReleaseProgram does nothing where it is not known how.
func ReleaseProgram() (int64, error) { return 0, nil }
