package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// Fingerprint is a short text that changes with every change of a template but one of
// its status alone: it is made of the generation, which only a change of the spec
// raises, and of the metadata that goes along to the members. Where the kind has no
// generation, every change counts.
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
	for _, set := range []map[string]string{template.GetLabels(), template.GetAnnotations()} {
		line("keys", len(set))
		for _, key := range slices.Sorted(maps.Keys(set)) {
			line(key, set[key])
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// Current says whether a binding was made of a template as it is, by the rules as they
// are, so that there is no need to look at the template again.
func Current(b metav1.Object, template metav1.Object, rules string) bool {
	return b.GetAnnotations()[contract.TemplateFingerprintAnnotation] == made(template, rules)
}

// made is what a binding says that it was made of.
func made(template metav1.Object, rules string) string {
	if rules == "" {
		return Fingerprint(template)
	}
	return Fingerprint(template) + "-" + rules
}
