package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/detector/match"
	"fairlead.dev/hub/scheduler/decide"
	"fairlead.dev/hub/scheduler/explain"
)

func mapKeys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// readPolicies reads the policies of files.
func readPolicies(files []string) ([]policyv1alpha1.Policy, error) {
	var out []policyv1alpha1.Policy
	for _, file := range files {
		data, err := readFile(file)
		if err != nil {
			return nil, err
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", file, err)
			}
			p, err := readPolicy(document)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", file, err)
			}
			if p != nil {
				out = append(out, p)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no policy in the files of -f")
	}
	return out, nil
}

func readFile(file string) ([]byte, error) {
	if file == "-" {
		data, err := io.ReadAll(os.Stdin)
		if err != nil {
			return nil, fmt.Errorf("reading the standard input: %w", err)
		}
		return data, nil
	}
	data, err := os.ReadFile(file) //nolint:gosec // It is the file that the user names.
	if err != nil {
		return nil, fmt.Errorf("reading the policies: %w", err)
	}
	return data, nil
}

func readPolicy(document []byte) (policyv1alpha1.Policy, error) {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return nil, fmt.Errorf("it is no YAML: %w", err)
	}
	var p policyv1alpha1.Policy
	switch kind.Kind {
	case "":
		return nil, nil // a comment between two documents
	case policyv1alpha1.KindPropagationPolicy:
		p = &policyv1alpha1.PropagationPolicy{}
	case policyv1alpha1.KindClusterPropagationPolicy:
		p = &policyv1alpha1.ClusterPropagationPolicy{}
	default:
		return nil, fmt.Errorf("it holds a %s; --what-if takes PropagationPolicies and ClusterPropagationPolicies", kind.Kind)
	}
	if err := yaml.UnmarshalStrict(document, p); err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", kind.Kind, err)
	}
	return p, nil
}

// whatIf explains the objects that policies select which are not on the hub: one, or all
// that there are. It only reads.
func (e *explainer) whatIf(ctx context.Context, policies []policyv1alpha1.Policy, kind, name string) ([]*explain.Report, error) {
	for _, p := range policies {
		if namespaced, ok := p.(*policyv1alpha1.PropagationPolicy); ok && namespaced.Namespace == "" {
			namespaced.Namespace = e.namespace
		}
	}
	var templates []*unstructured.Unstructured
	if kind != "" {
		template, err := e.template(ctx, kind, name)
		if err != nil {
			return nil, err
		}
		templates = append(templates, template)
	} else {
		var err error
		if templates, err = e.selected(ctx, policies); err != nil {
			return nil, err
		}
	}
	var out []*explain.Report
	for _, t := range templates {
		r, err := e.suppose(ctx, policies, t)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, errors.New("the policies select nothing that is on the hub: correct their resourceSelectors, or create the objects")
	}
	return out, nil
}

// selected lists the objects that policies select, each once.
func (e *explainer) selected(ctx context.Context, policies []policyv1alpha1.Policy) ([]*unstructured.Unstructured, error) {
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
			if err := e.hub.List(ctx, list, client.InNamespace(namespace)); err != nil {
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

// suppose explains an object as if policies were on the hub.
func (e *explainer) suppose(ctx context.Context, policies []policyv1alpha1.Policy, t *unstructured.Unstructured) (*explain.Report, error) {
	there, err := e.policies(ctx, t)
	if err != nil {
		return nil, err
	}
	target := selector.TargetOf(t)
	holder, claimed := holderOf(t, there)
	all := append(policies, without(there, policies)...)
	winner := holder
	if changed := named(policies, holder); changed != nil {
		winner = changed
	}
	if winner != nil && match.Selects(winner, target) {
		if p := match.Preemptor(winner, all, target); p != nil {
			winner, claimed = p, false
		}
	} else {
		winner, claimed = best(all, target), false
	}
	r := reportOf(t)
	r.State = append(r.State, "This is what would be; nothing was changed.")
	r.Policies = explain.Policies(all, winner, claimed, target)
	if winner == nil {
		r.Advice = explain.Advise(r)
		return r, nil
	}
	return r, e.supposeBound(ctx, r, t, winner)
}

func (e *explainer) supposeBound(ctx context.Context, r *explain.Report, t *unstructured.Unstructured, winner policyv1alpha1.Policy) error {
	b, err := e.binding(ctx, t)
	if err != nil {
		return err
	}
	spec, group := &workv1alpha2.ResourceBindingSpec{}, ""
	if b != nil {
		spec, group = b.BindingSpec().DeepCopy(), b.BindingStatus().SchedulerObservedAffinityName
	} else {
		spec.Resource = workv1alpha2.ObjectReference{
			APIVersion: t.GetAPIVersion(), Kind: t.GetKind(), Namespace: t.GetNamespace(), Name: t.GetName(), UID: t.GetUID(),
		}
		if kinds := native.New(); kinds.Has(t.GroupVersionKind(), interpreter.InterpretReplica) {
			if spec.Replicas, spec.ReplicaRequirements, err = kinds.Replicas(ctx, t); err != nil {
				return err
			}
		}
	}
	spec.Placement = winner.PropagationSpec().Placement.DeepCopy()
	clusters, err := e.clusters(ctx)
	if err != nil {
		return err
	}
	d := decide.Decide(decide.Input{Spec: spec, ObservedAffinity: group, Clusters: clusters, Explain: true})
	r.Attempts = explain.Attempts(d, spec.Clusters)
	switch d.Outcome {
	case decide.Scheduled:
		r.State = append(r.State, fmt.Sprintf("It would go to %s; now it is assigned to %s.", explain.Targets(d.Targets), explain.Targets(spec.Clusters)))
	default:
		r.Scheduled = &explain.Scheduled{Status: "False", Reason: "WhatIf", Message: d.Message}
		r.Advice = explain.Advise(r)
	}
	return nil
}

// without returns the policies that are not among others, by their names.
func without(policies, others []policyv1alpha1.Policy) []policyv1alpha1.Policy {
	var out []policyv1alpha1.Policy
	for _, p := range policies {
		if named(others, p) == nil {
			out = append(out, p)
		}
	}
	return out
}

// named returns the policy of the same name; nil if there is none.
func named(policies []policyv1alpha1.Policy, like policyv1alpha1.Policy) policyv1alpha1.Policy {
	if like == nil {
		return nil
	}
	for _, p := range policies {
		if p.GetNamespace() == like.GetNamespace() && p.GetName() == like.GetName() {
			return p
		}
	}
	return nil
}

// best returns the policy that an object gets that nobody has.
func best(policies []policyv1alpha1.Policy, t selector.Target) policyv1alpha1.Policy {
	var near, wide []policyv1alpha1.Policy
	for _, p := range policies {
		switch p.GetNamespace() {
		case "":
			wide = append(wide, p)
		case t.Namespace:
			near = append(near, p)
		}
	}
	if p := match.Best(near, t); p != nil {
		return p
	}
	return match.Best(wide, t)
}
