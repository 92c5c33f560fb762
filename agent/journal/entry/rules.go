package entry

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// Rules are the interpreter customizations that the hub last sent.
type Rules struct {
	// Customizations and Webhooks are sorted by name.
	Customizations []configv1alpha1.ResourceInterpreterCustomization        `json:"customizations,omitempty"`
	Webhooks       []configv1alpha1.ResourceInterpreterWebhookConfiguration `json:"webhooks,omitempty"`
	// Unasked says that the agent did not ask the hub for webhooks.
	Unasked bool `json:"unasked,omitempty"`
	// Refused says that the hub did not let the agent read some of them, or does not serve the kind.
	Refused bool `json:"refused,omitempty"`
}

// SlimRules returns what the journal stores of customizations: their specs, names, UIDs and generations. Their status
// is left out, since it changes more often and the agent does not use it.
func SlimRules(r Rules) Rules {
	out := Rules{Unasked: r.Unasked, Refused: r.Refused}
	for _, c := range r.Customizations {
		out.Customizations = append(out.Customizations, configv1alpha1.ResourceInterpreterCustomization{
			ObjectMeta: slimMeta(c.ObjectMeta), Spec: c.Spec,
		})
	}
	for _, c := range r.Webhooks {
		out.Webhooks = append(out.Webhooks, configv1alpha1.ResourceInterpreterWebhookConfiguration{
			ObjectMeta: slimMeta(c.ObjectMeta), Webhooks: c.Webhooks,
		})
	}
	return out
}

func slimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, UID: m.UID, Generation: m.Generation}
}
