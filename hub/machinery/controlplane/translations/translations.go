// Package translations has only kubectl load the translations of its texts. Its package initialization asks for one, and loading them,
// which is to zip megabytes and unzip them again, was a third of what each process of a control plane calculated until it began.
//
// It works by being imported: Go initializes it before the packages of kubectl that have texts, since it needs less than they do and its
// path comes before theirs.
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
	// It is refused only if they are loaded already, which does no harm.
	_ = i18n.SetLoadTranslationsFunc(func() error { return nil })
}

// isKubectl says whether a program that is called so is kubectl: by its name, or by the component that is its first argument.
func isKubectl(args []string) bool {
	return len(args) > 0 && strings.HasPrefix(filepath.Base(args[0]), "kubectl") || len(args) > 1 && args[1] == "kubectl"
}
