package bindings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// Fingerprint returns a short text that changes with every change of a template, except a change of its status alone.
// It covers the generation, which only a change of the spec increases, and the propagated metadata. For a kind
// without generations every change counts. It is the same for a cached template, whose last-applied annotation is
// stripped, and for one that is read live.
func Fingerprint(template metav1.Object) string {
	h := sha256.New()
	line := func(values ...any) {
		_, _ = fmt.Fprintf(h, "%q\n", values) // a hash never fails
	}
	line("uid", template.GetUID())
	if generation := template.GetGeneration(); generation > 0 {
		line("generation", generation)
	} else {
		line("version", template.GetResourceVersion())
	}
	line("deleting", template.GetDeletionTimestamp() != nil)
	annotations := maps.Clone(template.GetAnnotations())
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	for _, set := range []map[string]string{template.GetLabels(), annotations} {
		line("keys", len(set))
		for _, key := range slices.Sorted(maps.Keys(set)) {
			line(key, set[key])
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// MadeOf returns a fingerprint of a binding's sources: the template, and the version of the interpreter rules with
// which it was read.
func MadeOf(template metav1.Object, rules string) string {
	if rules == "" {
		return Fingerprint(template)
	}
	return Fingerprint(template) + "-" + rules
}

// FingerprintOn returns the template's fingerprint recorded on a binding, whatever the interpreter rules; empty if
// there is none.
func FingerprintOn(b metav1.Object) string {
	fingerprint, _, _ := strings.Cut(b.GetAnnotations()[contract.TemplateFingerprintAnnotation], "-")
	return fingerprint
}
