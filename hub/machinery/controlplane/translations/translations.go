// Package translations keeps programs other than kubectl from loading kubectl's translations. Its package
// initialization loads them, which zips and unzips megabytes, and took a third of the CPU time that each process of a
// control plane needed to start.
//
// Importing it is enough: Go initializes it before those packages of kubectl that have texts, since it has fewer
// dependencies and its path sorts first.
package translations

import (
	"os"
	"path/filepath"
	"strings"

	"k8s.io/kubectl/pkg/util/i18n"
)

func init() {
	if isKubectl(os.Args) {
		return
	}
	// It is only refused if they are loaded already, which is harmless.
	_ = i18n.SetLoadTranslationsFunc(func() error { return nil })
}

// isKubectl says whether a program with these arguments is kubectl: by its name, or by its first argument.
func isKubectl(args []string) bool {
	return len(args) > 0 && strings.HasPrefix(filepath.Base(args[0]), "kubectl") || len(args) > 1 && args[1] == "kubectl"
}
