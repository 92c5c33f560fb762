package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tailLines is how much of a log is shown after a failure.
const tailLines = 20

// Tail returns the end of each log, under its name.
func Tail(paths ...string) string {
	var b strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		fmt.Fprintf(&b, "--- end of %s\n%s\n", filepath.Base(path), strings.Join(lines[max(0, len(lines)-tailLines):], "\n"))
	}
	return b.String()
}
