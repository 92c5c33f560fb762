package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/detector/claim"
)

// Input is everything that the decision about one template depends on.
type Input struct {
	// Template is the template's metadata; nil if the template is gone.
	Template *metav1.PartialObjectMetadata
	// Now is the time of the decision.
	Now time.Time
	// Excluded says that policies do not apply to the template.
	Excluded bool
	// Claim is the claim on the template. If the template is excluded or gone and has no claim itself, it is the claim on its binding. The
	// zero value means no claim.
	Claim claim.Claim
	// Holder is the policy that Claim names; nil if that does not exist any more.
	Holder policyv1alpha1.Policy
	// Winner is the policy that the template should have, and Victim the one that it is taken from: see match.Policy. Either may be nil.
	Winner, Victim policyv1alpha1.Policy
	// OtherVersion is the apiVersion in which the winner has the template, if that differs from the one in which the template was read: see
	// match.Version. It may not be served any more.
	OtherVersion string
	// Strategies are all RolloutStrategies.
	Strategies []*fairleadv1alpha1.RolloutStrategy
	// Namespace is the template's namespace; nil if it has none, or no strategy selects by namespace.
	Namespace metav1.Object
	// Missing are the override policies that the winner depends on and that do not exist.
	Missing []string
	// Priority is the value of the PriorityClass that the winner names, which may be above HighestPriority; nil if it names none.
	Priority *int32
	// MissingClass is the PriorityClass that the winner names and that does not exist.
	MissingClass string
	// Edit is the result of Edit for the whole template. It is empty if the winner is not lazy.
	Edit string
	// Binding is the binding with the template's binding name, as it was last written; nil if there is none. It may belong to another
	// object.
	Binding workv1alpha2.Binding
	// Workload says that there are interpretation rules for the demand of templates of this kind; Rules is the version of the rules.
	Workload bool
	Rules    string
	// Demand is what the template asks for; nil if it was not read.
	Demand *Demand
}

// Demand is what a template asks for, and the metadata that was read together with it.
type Demand struct {
	// Meta is the metadata of the template, read together with the demand.
	Meta metav1.Object
	// Replicas is the number of replicas; 0 for objects that are not workloads.
	Replicas int32
	// Requirements is what one replica requests; may be nil.
	Requirements *workv1alpha2.ReplicaRequirements
	// Components are the parts of a workload with several pod templates. Such a workload has no replicas.
	Components []workv1alpha2.Component
}
