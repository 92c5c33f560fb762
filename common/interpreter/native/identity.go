package native

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/common/contract"
)

// serviceAccount retains the imagePullSecrets that others in the member added. The list is applied as a whole, so
// theirs have to be included. Entries that the manifest had when it was last applied, recorded in an annotation, are
// not theirs: what the template drops is removed. The field secrets needs no rule: there, each entry has an owner of
// its own, and entries of others stay by themselves.
func serviceAccount() rules {
	return rules{dependencies: serviceAccountDependencies, retain: func(desired, live content) error {
		const field = "imagePullSecrets"
		ours := strings.Split(annotationOf(live, contract.ImagePullSecretsAnnotation), ",")
		entries := list(desired, field)
		for _, entry := range list(live, field) {
			if name := text(entry, "name"); named(entries, name) == nil && !slices.Contains(ours, name) {
				entries = append(entries, entry)
			}
		}
		if len(entries) > 0 {
			setList(desired, field, entries)
		}
		return nil
	}}
}

func secret() rules {
	return rules{retain: func(desired, live content) error {
		if text(desired, "type") == string(corev1.SecretTypeServiceAccountToken) {
			take(desired, live, "data")
		}
		return nil
	}}
}
