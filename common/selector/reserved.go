package selector

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/contract"
)

// ReservedKind returns whether objects of a kind are never templates: those of this API itself, events and leases.
func ReservedKind(kind schema.GroupVersionKind) bool {
	switch kind.Group {
	case "cluster.karmada.io", "policy.karmada.io", "work.karmada.io", "config.karmada.io",
		"networking.karmada.io", "autoscaling.karmada.io", "remedy.karmada.io", "apps.karmada.io",
		"fairlead.dev", contract.ConnectGroup, "events.k8s.io", "coordination.k8s.io":
		return true
	case "":
		return kind.Kind == "Event"
	default:
		return false
	}
}
