package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/common/selector"
)

// live is the content of an application as it was read last.
type live struct {
	// key tells what it was made of: while that is the same, nothing is read again.
	key string
	// there is false if a template is gone, or another one.
	there   bool
	content revision.Content
	hash    string
	// generation is the generation of the template.
	generation int64
	// at is when it was read.
	at time.Time
	// version is the version of the template, and since from when on further edits are waited for.
	version string
	since   time.Time
}

// comparison is whether a live content is that of a kept revision.
type comparison struct {
	key  string
	same bool
}

// readLive returns the content of an application as it is now. What the detector has not seen to have
// changed is not read again.
func (r *reconciler) readLive(ctx context.Context, m *memory, b kube.Binding) error {
	if b.BindingSpec().PropagateDeps && b.GetAnnotations()[contract.DependenciesAnnotation] == "" {
		m.live = live{} // What it needs is not known yet, and goes out with it.
		return nil
	}
	parts, err := r.parts(ctx, b)
	if err != nil {
		return err
	}
	epoch := r.epoch.Load()
	key := r.keyOf(parts, epoch)
	if m.live.key == key {
		return nil
	}
	next := live{key: key, at: r.clock.Now(), version: b.BindingSpec().Resource.ResourceVersion}
	next.since = next.at
	if m.live.version != "" && m.live.version != next.version {
		next.since = seenAt(b, m.live.at, next.at)
	}
	sources := make([]revision.Source, 0, len(parts))
	for _, part := range parts {
		source, err := r.source(ctx, part)
		if err != nil {
			return err
		}
		if source.Template == nil {
			if part != b { // what is needed went; the stage that attached it will tell
				continue
			}
			m.live = next
			return nil
		}
		sources = append(sources, source)
	}
	if next.content, err = revision.Make(sources[0], sources[1:]...); err != nil {
		return fmt.Errorf("putting the revision of %q together: %w", b.GetName(), err)
	}
	if next.hash, err = next.content.Hash(); err != nil {
		return fmt.Errorf("putting the revision of %q together: %w", b.GetName(), err)
	}
	next.there, next.generation = true, sources[0].Template.GetGeneration()
	m.live = next
	return nil
}

// seenAt is when the detector saw the change of a template that was not there at a time before. That may have been
// some while ago: the binding of an application in many clusters is large. What is said of any other time is not believed.
func seenAt(b kube.Binding, before, now time.Time) time.Time {
	seen, err := time.Parse(time.RFC3339Nano, b.GetAnnotations()[contract.TemplateSeenAnnotation])
	if err != nil || seen.Before(before) || seen.After(now) {
		return now
	}
	return seen
}

// parts returns the bindings whose templates make up a revision: the binding itself, then those of
// what it needs that have no rollout of their own and that it leads (see revision.Leads), sorted.
func (r *reconciler) parts(ctx context.Context, b kube.Binding) ([]kube.Binding, error) {
	out := []kube.Binding{b}
	if !b.BindingSpec().PropagateDeps {
		return out, nil
	}
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		found, err := kind.NeededBy(ctx, r.hubClient, client.ObjectKeyFromObject(b))
		if err != nil {
			return nil, err
		}
		for _, other := range found {
			// What an older revision needs stays attached, and is no part of what is made now.
			if revision.Leads(b.GetNamespace(), other.GetNamespace()) && bindings.Needs(b, &other.BindingSpec().Resource) && !bindings.IsStaged(other) &&
				other.GetDeletionTimestamp().IsZero() {
				out = append(out, other)
			}
		}
	}
	slices.SortFunc(out[1:], func(a, b kube.Binding) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return out, nil
}

// keyOf tells what a content is made of.
func (r *reconciler) keyOf(parts []kube.Binding, epoch int64) string {
	var out strings.Builder
	_, _ = fmt.Fprintf(&out, "%d", epoch)
	for _, part := range parts {
		ref := &part.BindingSpec().Resource
		_, _ = fmt.Fprintf(&out, "\n%s %s %s/%s %s %s %t %s", ref.APIVersion, ref.Kind, ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion,
			bindings.IsWorkload(part.BindingSpec()), interpreter.Version(r.interpreter, kindOf(ref)))
	}
	return out.String()
}

// source reads what one part is made of. It has no template if that is gone, is another one, or is
// not in the namespace of its binding.
func (r *reconciler) source(ctx context.Context, b kube.Binding) (revision.Source, error) {
	ref := &b.BindingSpec().Resource
	if ref.Namespace != b.GetNamespace() {
		// Whoever may write bindings in one namespace may not read the Secrets of others.
		return revision.Source{}, nil
	}
	template := &unstructured.Unstructured{}
	template.SetGroupVersionKind(kindOf(ref))
	err := r.hubReader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, template)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err), err == nil && ref.UID != "" && template.GetUID() != ref.UID:
		return revision.Source{}, nil
	case err != nil:
		return revision.Source{}, fmt.Errorf("reading the template %s %q: %w", ref.Kind, ref.Name, err)
	}
	policies, err := r.readPolicies(ctx, ref.Namespace)
	if err != nil {
		return revision.Source{}, err
	}
	return revision.Source{
		Template: template, Rules: override.Select(policies, selector.TargetOf(template)).Rules(),
		Revise: r.revise(ctx, b, template.GroupVersionKind()),
	}, nil
}

func (r *reconciler) readPolicies(ctx context.Context, namespace string) (override.Policies, error) {
	var ofCluster policyv1alpha1.ClusterOverridePolicyList
	if err := r.hubClient.List(ctx, &ofCluster, client.UnsafeDisableDeepCopy); err != nil {
		return override.Policies{}, fmt.Errorf("listing cluster override policies: %w", err)
	}
	out := override.Policies{Cluster: ofCluster.Items}
	if namespace == "" {
		return out, nil
	}
	var ofNamespace policyv1alpha1.OverridePolicyList
	if err := r.hubClient.List(ctx, &ofNamespace, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return override.Policies{}, fmt.Errorf("listing override policies: %w", err)
	}
	out.Namespaced = ofNamespace.Items
	return out, nil
}

// revise returns what sets the replicas of the template of a binding; nil if the hub does not set
// them.
func (r *reconciler) revise(ctx context.Context, b kube.Binding, kind schema.GroupVersionKind) revision.Revise {
	if !bindings.IsWorkload(b.BindingSpec()) || !r.interpreter.Has(kind, interpreter.ReviseReplica) {
		return nil
	}
	return func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
		return r.interpreter.ReviseReplicas(ctx, obj, replicas)
	}
}

// isSame says whether the live content is that of a revision that was kept, with the rules of now.
// If the kept one cannot be read, it is not.
func (r *reconciler) isSame(ctx context.Context, s *scope, id revision.ID) (bool, error) {
	m := s.memory
	if m.live.hash == id.Hash {
		return true, nil
	}
	key := m.live.key + "\n" + m.live.hash + "\n" + id.String()
	if m.same.key == key {
		return m.same.same, nil
	}
	kept, err := r.readKept(ctx, s.rollout, id)
	if err != nil {
		return false, err
	}
	same := false
	if kept != nil {
		parts, err := r.parts(ctx, s.binding)
		if err != nil {
			return false, err
		}
		if same, err = kept.Same(m.live.content, r.reviseOf(ctx, parts)); err != nil {
			return false, fmt.Errorf("comparing %q with revision %d: %w", s.binding.GetName(), id.Number, err)
		}
	}
	m.same = comparison{key: key, same: same}
	return same, nil
}

// reviseOf returns what sets the replicas of each part.
func (r *reconciler) reviseOf(ctx context.Context, parts []kube.Binding) func(revision.Ref) revision.Revise {
	return func(wanted revision.Ref) revision.Revise {
		for _, part := range parts {
			ref := &part.BindingSpec().Resource
			if (revision.Ref{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}) == wanted {
				return r.revise(ctx, part, kindOf(ref))
			}
		}
		return nil
	}
}

func kindOf(ref *workv1alpha2.ObjectReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}
