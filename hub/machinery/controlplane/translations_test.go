package main

import (
	"testing"

	"k8s.io/kubectl/pkg/util/i18n"
)

// TestOnlyKubectlLoadsTranslations checks this executable, which is not kubectl: without translations there are no
// plurals either, and every text is its singular.
func TestOnlyKubectlLoadsTranslations(t *testing.T) {
	const text = "a text that kubectl does not have"
	if got := i18n.T(text, 2); got != text+"%!(EXTRA int=2)" {
		t.Errorf("translations are loaded: package translations is not initialized before packages that have texts; %q", got)
	}
}
