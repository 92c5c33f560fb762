package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/detector/claim"
)

// Input is all that the decision about one template depends on.
type Input struct {
	// Template is the template's metadata; nil if the template is gone.
	Template *metav1.PartialObjectMetadata
	// Now is when it is looked at.
	Now time.Time
	// Excluded says that policies do not get the template.
	Excluded bool
	// Claim is that on the template. For a template that is excluded or gone, and has none
	// itself, it is that on the binding which it left. The zero value is no claim.
	Claim claim.Claim
	// Holder is the policy that Claim names; nil if that is gone.
	Holder policyv1alpha1.Policy
	// Winner is the policy that the template is to have, and Victim the one that it is taken
	// from: see match.Policy. Either may be nil.
	Winner, Victim policyv1alpha1.Policy
	// OtherVersion is the apiVersion in which the winner has the template, if that is another
	// one than that in which it was read: see match.Version. It may be served no more.
	OtherVersion string
	// Strategies are all RolloutStrategies.
	Strategies []*fairleadv1alpha1.RolloutStrategy
	// Namespace is that of the template; nil if it is in none, or no strategy asks for it.
	Namespace metav1.Object
	// Missing are the override policies that the winner depends on and that do not exist.
	Missing []string
	// Priority is that of the PriorityClass that the winner names, which may be more than it counts as; nil if it names none.
	Priority *int32
	// MissingClass is the PriorityClass that the winner names and that does not exist.
	MissingClass string
	// Edit is what Edit says of the whole template. It is empty if the winner is not lazy.
	Edit string
	// Binding is the binding of the template's name, as it was written last; nil if there is
	// none. It may be that of another object.
	Binding workv1alpha2.Binding
	// Workload says that rules tell what templates of the kind ask for, and Rules is the
	// version of those.
	Workload bool
	Rules    string
	// Demand is what the template asks for; nil if that was not read.
	Demand *Demand
}

// Demand is what a template asks for, and the metadata that was read together with it.
type Demand struct {
	// Meta is the metadata of the template.
	Meta metav1.Object
	// Replicas is how many it asks for; 0 for what is not a workload.
	Replicas int32
	// Requirements is what one replica needs; may be nil.
	Requirements *workv1alpha2.ReplicaRequirements
	// Components are the parts of a workload with several pod templates, which has no
	// replicas then.
	Components []workv1alpha2.Component
}
