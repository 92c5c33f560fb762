package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// programHash returns a hash of the running executable: another build may behave differently, even if its version is the same.
func programHash() (string, error) {
	f, err := os.Open("/proc/self/exe") // still the running executable after its file was replaced
	if err != nil {
		path, errPath := os.Executable()
		if errPath != nil {
			return "", fmt.Errorf("finding the running program: %w", errPath)
		}
		if f, err = os.Open(path); err != nil { //nolint:gosec // The path is that of the running program.
			return "", fmt.Errorf("opening the running program: %w", err)
		}
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading the running program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:10]), nil
}
