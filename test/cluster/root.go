package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// modulePath is the first line of the go.mod at the root of the repository; the nested module has another.
const modulePath = "module fairlead.dev\n"

// Root returns the root of the repository that contains the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the root of the repository: %w", err)
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(data), modulePath) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the root of the repository: no go.mod of fairlead.dev above the working directory")
		}
		dir = parent
	}
}

// Executable returns the path of one of the built programs: hub, agent, controlplane or
// kubectl.
func Executable(name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("finding %q: %w; run `make build` first", "bin/"+name, err)
	}
	return path, nil
}
