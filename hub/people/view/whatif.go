package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/match"
	"fairlead.dev/hub/flow/detector/plan"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/people/explain"
)

// WhatIf explains an object as if additional policies were on the hub; without a Ref, every object that they select.
func (r *Reader) WhatIf(ctx context.Context, policies []policyv1alpha1.Policy, ref *Ref) ([]*explain.Report, error) {
	var templates []*unstructured.Unstructured
	if ref != nil {
		template, err := r.Template(ctx, *ref)
		if err != nil {
			return nil, err
		}
		templates = append(templates, template)
	} else {
		var err error
		if templates, err = r.selected(ctx, policies); err != nil {
			return nil, err
		}
	}
	var out []*explain.Report
	var supposed []kube.Binding
	kinds := r.once(ctx)
	excluded, err := r.exclusions(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range templates {
		report, b, err := r.explainSupposed(ctx, policies, t, supposed, kinds, excluded)
		if err != nil {
			return nil, err
		}
		if b != nil {
			supposed = append(supposed, b)
		}
		out = append(out, report)
	}
	if len(out) == 0 {
		return nil, errors.New("the policies select nothing that is on the hub: correct their resourceSelectors, or create the objects")
	}
	return out, nil
}

// selected lists the objects that policies select, each once.
func (r *Reader) selected(ctx context.Context, policies []policyv1alpha1.Policy) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	seen := map[string]bool{}
	for _, p := range policies {
		for _, s := range p.PropagationSpec().ResourceSelectors {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.FromAPIVersionAndKind(s.APIVersion, s.Kind))
			namespace := s.Namespace
			if p.GetNamespace() != "" {
				namespace = p.GetNamespace()
			}
			if err := r.hub.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return nil, fmt.Errorf("listing %s of %s, which a policy selects: %w", s.Kind, s.APIVersion, err)
			}
			for i := range list.Items {
				t := &list.Items[i]
				t.SetGroupVersionKind(schema.FromAPIVersionAndKind(s.APIVersion, s.Kind))
				if !match.Selects(p, selector.TargetOf(t)) || seen[string(t.GetUID())] {
					continue
				}
				seen[string(t.GetUID())] = true
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// explainSupposed explains an object as if additional policies and the supposed bindings were on the hub. It returns
// the binding that the object would have; nil if no policy selects it.
func (r *Reader) explainSupposed(
	ctx context.Context, policies []policyv1alpha1.Policy, t *unstructured.Unstructured, supposed []kube.Binding,
	kinds func() (interpreter.Interpreter, error), excluded *selector.Exclusions,
) (*explain.Report, kube.Binding, error) {
	there, err := r.policies(ctx, t)
	unread := apierrors.IsForbidden(err)
	if err != nil && !unread {
		return nil, nil, err
	}
	target := selector.TargetOf(t)
	holder, claimed := holderOf(t, there)
	all := append(slices.Clone(policies), excluding(there, policies)...)
	if claimed {
		if changed := policyNamed(policies, holder.GetNamespace(), holder.GetName()); changed != nil {
			holder = changed
		}
	}
	others, err := r.otherVersions(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	winner, _ := match.Policy(holder, all, target, others...)
	claimed = claimed && winner != nil && winner == holder
	report := reportOf(t)
	report.State = append(report.State, "This is what would happen; nothing was changed.")
	if unread {
		report.State = append(report.State, "You may not read all policies: it is unknown whether another one would win.")
	}
	report.Policies = explain.Policies(all, winner, claimed, target, others...)
	report.NearMisses = explain.NearMisses(all, report.Policies, target, others...)
	why := whyStays(excluded, t.GroupVersionKind(), t)
	if why != "" {
		report.Policies = explain.Policies(all, nil, false, target, others...) // none of them would apply
		stay(report, excluded, why)
	}
	if winner == nil || why != "" {
		report.Advice = explain.Advise(report)
		return report, nil, nil
	}
	outcome, err := r.explainApplied(ctx, report, t, contest{supposedOnHub(all), unread, others, kinds})
	if err != nil {
		return nil, nil, err
	}
	if report.NotApplied != "" {
		report.Advice = explain.Advise(report)
		if outcome != plan.Postponed {
			return report, nil, nil // no clusters can be predicted
		}
	}
	b, err := r.supposedBinding(ctx, t, winner, others, kinds)
	if err != nil {
		return nil, nil, err
	}
	return report, b, r.supposePlaced(ctx, report, b, supposed)
}

// supposedBinding returns the binding that a template would have if a policy applied to it: based on the existing one,
// or new. The template is read in the version in which the policy selects it.
func (r *Reader) supposedBinding(
	ctx context.Context, t *unstructured.Unstructured, winner policyv1alpha1.Policy, others []string, kinds func() (interpreter.Interpreter, error),
) (kube.Binding, error) {
	b, err := r.Binding(ctx, RefOf(t))
	if err != nil {
		return nil, err
	}
	var current string
	if b != nil {
		current = b.BindingSpec().Resource.APIVersion
	}
	kind := schema.FromAPIVersionAndKind(match.Version(winner, selector.TargetOf(t), current, others...), t.GetKind())
	switch {
	case kind == t.GroupVersionKind():
	case slices.Contains(others, kind.GroupVersion().String()):
		if t, err = r.Template(ctx, Ref{GroupVersionKind: kind, Namespace: t.GetNamespace(), Name: t.GetName()}); err != nil {
			return nil, err
		}
	case b != nil:
		return b, nil // unchanged until that version is served
	}
	demand := &plan.Demand{Meta: t}
	var resource *workv1alpha2.ObjectReference
	if b != nil {
		spec := b.BindingSpec()
		resource = new(spec.Resource) // it says which version of the template was given up in some cluster
		demand.Replicas, demand.Requirements, demand.Components = spec.Replicas, spec.ReplicaRequirements, spec.Components
	} else {
		b = kube.BindingsIn(t.GetNamespace()).New()
		known, err := kinds()
		if err != nil {
			return nil, err
		}
		if err := r.fillDemand(ctx, known, demand, t); err != nil {
			return nil, err
		}
	}
	plan.Desired{
		Kind: t.GroupVersionKind(), Demand: *demand, Claim: claim.By(winner), Policy: winner.PropagationSpec(),
		Strategy:          plan.StrategyOn(b),
		ReturnToPreferred: winner.GetAnnotations()[contract.ReturnToPreferredAnnotation],
	}.Update(b)
	if resource != nil {
		resource.APIVersion = t.GetAPIVersion()
		b.BindingSpec().Resource = *resource
	}
	return b, nil
}

// supposePlaced decides the clusters of a binding, and sets them.
func (r *Reader) supposePlaced(ctx context.Context, report *explain.Report, b kube.Binding, supposed []kube.Binding) error {
	clusters, err := r.clusters(ctx)
	if err != nil {
		return err
	}
	w, err := r.gatherDecision(ctx, report, b, clusters, supposed...)
	if err != nil {
		return err
	}
	in := decide.InputOf(b, w)
	in.AppliedPlacement, in.Explain = "", true
	d := decide.Decide(in)
	spec := b.BindingSpec()
	report.Attempts = explain.Attempts(d, spec.Clusters)
	explain.TellUnknown(report.Attempts, clusters)
	switch d.Outcome {
	case decide.Scheduled:
		report.State = append(report.State, fmt.Sprintf("It would go to %s; now it is assigned to %s.", explain.Targets(d.Targets), explain.Targets(spec.Clusters)))
	default:
		report.Scheduled = &explain.Scheduled{Status: "False", Reason: "WhatIf", Message: d.Message}
		report.Advice = explain.Advise(report)
	}
	spec.Clusters = d.Targets
	waves, err := r.revisionsIn(ctx, b)
	if waves != "" {
		report.State = append(report.State, waves)
	}
	return err
}

// fillDemand reads the demand of a template with the interpreter.
func (r *Reader) fillDemand(ctx context.Context, kinds interpreter.Interpreter, demand *plan.Demand, t *unstructured.Unstructured) (err error) {
	switch kind := t.GroupVersionKind(); {
	case kinds.Has(kind, interpreter.InterpretComponent):
		demand.Components, err = kinds.Components(ctx, t)
	case kinds.Has(kind, interpreter.InterpretReplica):
		demand.Replicas, demand.Requirements, err = kinds.Replicas(ctx, t)
	}
	if err != nil {
		return fmt.Errorf("reading what %s %q asks for: %w", t.GetKind(), t.GetName(), err)
	}
	return nil
}

// Interpreter returns an interpreter with the hub's customizations. It calls webhooks from this process.
func (r *Reader) Interpreter(ctx context.Context) (interpreter.Interpreter, error) {
	builtIn, err := store.BuiltIn(vm.Options{})
	if err != nil {
		return nil, err
	}
	compiler, err := lua.NewCompiler(lua.Options{})
	if err != nil {
		return nil, fmt.Errorf("preparing Lua: %w", err)
	}
	kinds := store.New(store.Options{Compiler: compiler, Services: r.hub, BuiltIn: []interpreter.Interpreter{builtIn}})
	return kinds, kinds.Load(ctx, r.hub)
}

// excluding returns the policies whose names are not among others.
func excluding(policies, others []policyv1alpha1.Policy) []policyv1alpha1.Policy {
	var out []policyv1alpha1.Policy
	for _, p := range policies {
		if policyNamed(others, p.GetNamespace(), p.GetName()) == nil {
			out = append(out, p)
		}
	}
	return out
}
