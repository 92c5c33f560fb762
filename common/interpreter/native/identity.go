package native

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/common/contract"
)

// serviceAccount keeps the imagePullSecrets that others in the member gave it. The list is applied as a whole, so what is theirs
// has to be sent along. What the manifest had when the object was last applied, which an annotation says, is not theirs: what the
// template drops goes. Of secrets nothing is kept: there each entry has an owner of its own, and what others own stays by itself.
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
