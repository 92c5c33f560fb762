package native

import (
	corev1 "k8s.io/api/core/v1"
)

func serviceAccount() rules {
	return rules{dependencies: serviceAccountDependencies, retain: func(desired, live content) error {
		for _, field := range []string{"secrets", "imagePullSecrets"} {
			entries := list(desired, field)
			for _, entry := range list(live, field) {
				if named(entries, text(entry, "name")) == nil {
					entries = append(entries, entry)
				}
			}
			if len(entries) > 0 {
				setList(desired, field, entries)
			}
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
