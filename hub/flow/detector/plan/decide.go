package plan

import (
	"fmt"

	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/claim"
)

// Outcome is what becomes of a template.
type Outcome string

// Outcomes. The zero value is that nothing is to be done.
const (
	// Bound means that the binding says what template and policy ask for.
	Bound Outcome = "Bound"
	// Postponed means that a lazy policy has the template, and waits for an edit of it.
	Postponed Outcome = "Postponed"
	// Released means that no policy has the template any more. Its binding stays.
	Released Outcome = "Released"
	// Waiting means that the policy depends on override policies that do not exist yet.
	Waiting Outcome = "Waiting"
	// NameTaken means that the name of the binding is that of another object's.
	NameTaken Outcome = "NameTaken"
	// Leaving means that the old binding of the template has to go first.
	Leaving Outcome = "Leaving"
	// Elsewhere means that the policy has the template in another version, in which it is
	// looked at as well.
	Elsewhere Outcome = "Elsewhere"
	// NoPriority means that the policy names a PriorityClass that does not exist.
	NoPriority Outcome = "NoPriority"
)

// Plan is what is to be written about one template, and why.
type Plan struct {
	// Outcome is what becomes of the template.
	Outcome Outcome
	// Read says that the template's demand must be read before the binding is written, and
	// the decision made again. The demand that Claim's write answers with does as well.
	Read bool
	// Claim is what the template is to carry. The zero value is no claim; nil leaves the
	// claim as it is.
	Claim *claim.Claim
	// Edit is what the template is to remember as its last edit: written with the claim if
	// the outcome is Postponed, and after the binding if it is Bound.
	Edit string
	// Binding is what the binding is to say; nil leaves it as it is.
	Binding *Desired
	// BindingClaim is the claim that the binding is to carry where the rest of it stays as
	// it is. The zero value is no claim; nil leaves it as it is.
	BindingClaim *claim.Claim
	// Strategy is the one that the binding is to go by where the rest of it stays as it is; nil leaves it as it is.
	Strategy *Strategy
	// Preserve says that the binding is to say from now on that objects stay in the members when it goes, where the rest of it stays as it is.
	Preserve bool
	// Why says what somebody must do before the policy can be applied.
	Why string
}

// Decide decides what becomes of a template. Whatever it is, a binding that stays as it is goes by the right strategy: it is rendered as
// long as it is there.
func Decide(in Input) Plan {
	p := decide(in)
	if in.Template == nil || p.Binding != nil || p.Outcome == Elsewhere || in.Binding == nil || in.Binding.GetDeletionTimestamp() != nil || !Owned(in.Binding, in.Template) {
		return p
	}
	s := Kept(in)
	if policy := policyOf(in); policy != nil {
		s = strategyOf(in, policy)
	}
	if StrategyOn(in.Binding) != s {
		p.Strategy = &s
	}
	return p
}

func decide(in Input) Plan {
	switch {
	case in.Template == nil:
		if in.Claim == (claim.Claim{}) || stays(in.Holder) || in.Binding.GetDeletionTimestamp() != nil {
			return Plan{}
		}
		// The policy need not wait for the garbage collector.
		return Plan{Outcome: Released, BindingClaim: new(claim.Claim{}), Preserve: preservesMore(in)}
	case in.Excluded:
		// Only a policy that is going would wait for this template for ever.
		if in.Claim == (claim.Claim{}) || stays(in.Holder) {
			return Plan{}
		}
		return release(in)
	case in.Winner == nil:
		return release(in)
	case in.OtherVersion != "":
		return Plan{Outcome: Elsewhere}
	default:
		return apply(in)
	}
}

// stays says whether a policy is there, and is not about to go.
func stays(p policyv1alpha1.Policy) bool { return p != nil && p.GetDeletionTimestamp() == nil }

// release takes the claim off a template and its binding.
func release(in Input) Plan {
	p := Plan{Outcome: Released}
	// A binding of the same name may be that of another object.
	if in.Binding != nil && Owned(in.Binding, in.Template) {
		p.BindingClaim, p.Preserve = new(claim.Claim{}), preservesMore(in)
	}
	if claim.Clear(in.Template.DeepCopy()) {
		p.Claim = new(claim.Claim{})
	}
	if p.BindingClaim == nil && p.Claim == nil {
		return Plan{}
	}
	return p
}

// preservesMore says whether the last word of the policy that lets a template go is that its objects stay in the members, which its binding may
// not say yet: an edit of a policy comes to one template after the other.
func preservesMore(in Input) bool {
	return in.Holder != nil && in.Binding != nil && ptr.Deref(in.Holder.PropagationSpec().PreserveResourcesOnDeletion, false) &&
		!ptr.Deref(in.Binding.BindingSpec().PreserveResourcesOnDeletion, false)
}

// apply gives a template to the policy that won it.
func apply(in Input) Plan {
	c := claim.By(in.Winner)
	switch {
	case in.Template.DeletionTimestamp != nil:
		return Plan{} // no binding for what is about to go
	case c.ID == "":
		return Plan{} // the policy gets its id first, and that wakes the stage
	case waits(in):
		return Plan{Outcome: Waiting, Why: fmt.Sprintf("waiting for dependent overrides: create %s %q, or remove it from dependentOverrides of the policy", overrideKind(in.Winner), in.Missing[0])}
	}
	p := Plan{}
	if in.Claim != c {
		p.Claim = &c
	}
	activation := activate(in)
	p.Edit = activation.Seen
	switch {
	case !activation.Bind:
		p.Outcome = Postponed
		if in.Binding != nil && Owned(in.Binding, in.Template) && in.Binding.GetDeletionTimestamp() == nil {
			p.BindingClaim = &c
		}
	case in.Binding != nil && !Owned(in.Binding, in.Template):
		ref := in.Binding.BindingSpec().Resource
		p.Outcome, p.Why = NameTaken, fmt.Sprintf("the binding belongs to another object: %q is the binding of %s %s %q with uid %s; if that object is gone, the binding will be removed shortly, "+
			"otherwise rename one of the two objects", in.Binding.GetName(), ref.APIVersion, ref.Kind, ref.Name, ref.UID)
	case in.Binding != nil && in.Binding.GetDeletionTimestamp() != nil:
		p.Outcome = Leaving // its end wakes the stage
	case in.MissingClass != "":
		p.Outcome, p.Why = NoPriority, fmt.Sprintf("the hub has no PriorityClass %q: create it, or correct spec.schedulePriority of the policy", in.MissingClass)
	default:
		p.bind(in, c)
	}
	return p
}

// Restage has a binding whose rest stays as it is go by the strategy of the plan, if that has one.
func (p Plan) Restage(b workv1alpha2.Binding) {
	if p.Strategy != nil {
		p.Strategy.Set(b)
	}
}

// waits says whether the winner waits for override policies that do not exist yet. One that has the template already does not.
func waits(in Input) bool { return len(in.Missing) > 0 && in.Claim.Key() != claim.By(in.Winner).Key() }

// policyOf returns the policy by whose word a binding goes that is left as it is: the winner, also if it is lazy or cannot be applied, or
// else the one that has the template; nil if none has.
func policyOf(in Input) policyv1alpha1.Policy {
	switch {
	case in.Winner != nil && !waits(in):
		return in.Winner
	case (in.Winner != nil || in.Excluded) && stays(in.Holder):
		return in.Holder
	}
	return nil
}

// bind has the binding say what the template and the policy ask for.
func (p *Plan) bind(in Input, c claim.Claim) {
	p.Outcome = Bound
	p.Binding = &Desired{
		Kind: in.Template.GroupVersionKind(), Demand: Demand{Meta: in.Template},
		Rules: in.Rules, Priority: cappedPriority(in.Priority), ReturnToPreferred: bounded(in.Winner.GetAnnotations()[contract.ReturnToPreferredAnnotation]),
		Strategy: strategyOf(in, in.Winner), SeenAt: in.Now, Claim: c, Policy: in.Winner.PropagationSpec(),
	}
	// A new claim changes the template, and so what the binding was made of.
	current := p.Claim == nil && in.Binding != nil && Current(in.Binding, in.Template.GroupVersionKind(), in.Template, in.Rules)
	switch {
	case current || !in.Workload:
	case in.Demand == nil || p.Claim != nil:
		p.Read = true
	default:
		p.Binding.Demand = *in.Demand
	}
}

// activate decides whether the winner takes effect now.
func activate(in Input) Activation {
	lazy := in.Winner.PropagationSpec().ActivationPreference == policyv1alpha1.LazyActivation
	age := in.Winner.GetCreationTimestamp()
	return Activate(lazy, in.Template.Annotations[contract.TemplateEditAnnotation], in.Edit, in.Binding != nil, !in.Template.CreationTimestamp.Before(&age))
}

func overrideKind(p policyv1alpha1.Policy) string {
	if p.GetNamespace() == "" {
		return policyv1alpha1.KindClusterOverridePolicy
	}
	return policyv1alpha1.KindOverridePolicy
}
