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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/common/selector"
)

// live is the content of an application as it was last read.
type live struct {
	// key identifies the inputs of the content: while it is the same, nothing is read again.
	key string
	// there is false if the template was deleted or replaced.
	there   bool
	content revision.Content
	hash    string
	// generation is the generation of the template.
	generation int64
	// at is when the content was read.
	at time.Time
	// version is the resource version of the template, and since is when it changed, from which on further edits are awaited.
	version string
	since   time.Time
	// unseen is the edit that the detector has not seen; while there is one, there is no content.
	unseen edits.Unseen
}

// unseenAgain is when a rollout whose live content the detector has not seen is reconciled again: the detector may have skipped that
// version for a later one, which triggers no event.
const unseenAgain = time.Minute

// comparison says whether a live content equals that of a stored revision.
type comparison struct {
	key  string
	same bool
}

// readLive updates m.live with the current content of an application. It reads nothing unless the detector saw a change.
func (r *reconciler) readLive(ctx context.Context, m *memory, b kube.Binding) error {
	if b.BindingSpec().PropagateDeps && b.GetAnnotations()[contract.DependenciesAnnotation] == "" {
		m.live = live{} // Its dependencies are not known yet, and are part of the revision.
		return nil
	}
	parts, err := r.parts(ctx, b)
	if err != nil {
		return err
	}
	if waits := r.awaitDetector(b, parts, nil); !waits.IsZero() {
		m.live = live{at: m.live.at, version: m.live.version, unseen: waits}
		return nil
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
	sources, read := make([]revision.Source, 0, len(parts)), make([]kube.Binding, 0, len(parts))
	for _, part := range parts {
		source, err := r.source(ctx, part)
		if err != nil {
			return err
		}
		if source.Template == nil {
			if part != b { // the dependency was deleted; the dependencies stage will detach it
				continue
			}
			m.live = next
			return nil
		}
		sources, read = append(sources, source), append(read, part)
	}
	if waits := r.awaitDetector(b, read, sources); !waits.IsZero() {
		m.live = live{at: m.live.at, version: m.live.version, unseen: waits}
		return nil
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

// awaitDetector registers a binding to wait until the detector has seen the templates of its parts (in the versions that were read, if read
// is not nil), and returns the edit that has been awaited longest. An edit may come with another strategy, and a revision keeps the
// strategy that it is made with.
func (r *reconciler) awaitDetector(b kube.Binding, parts []kube.Binding, read []revision.Source) edits.Unseen {
	var waits edits.Unseen
	for i, part := range parts {
		fingerprint := ""
		if read != nil {
			fingerprint = bindings.Fingerprint(read[i].Template)
		}
		if since, must := r.seen.Await(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}, part, fingerprint); must {
			waits = waits.OrLonger(edits.Unseen{Template: part.BindingSpec().Resource, Since: since})
		}
	}
	return waits
}

// seenAt returns when the detector saw the change of a template, which may be a while ago, since the binding of an application in many
// clusters takes long to write. It returns now if the annotation is not between before and now.
func seenAt(b kube.Binding, before, now time.Time) time.Time {
	seen, err := time.Parse(time.RFC3339Nano, b.GetAnnotations()[contract.TemplateSeenAnnotation])
	if err != nil || seen.Before(before) || seen.After(now) {
		return now
	}
	return seen
}

// parts returns the bindings whose templates make up a revision: the binding itself, then, sorted, those of its dependencies that have no
// rollout of their own and that it leads (see revision.Leads).
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
			// Dependencies of older revisions stay attached, but are not part of the new one.
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

// keyOf identifies the inputs of a content.
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

// source reads the template and override rules of one part. It returns none if the template was deleted or replaced, or is not in the
// namespace of its binding.
func (r *reconciler) source(ctx context.Context, b kube.Binding) (revision.Source, error) {
	ref := &b.BindingSpec().Resource
	if ref.Namespace != b.GetNamespace() {
		// The right to write bindings in one namespace must not become a right to read Secrets in others.
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
	policies, err := kube.OverridePolicies(ctx, r.hubClient, ref)
	if err != nil {
		return revision.Source{}, err
	}
	return revision.Source{
		Template: template, Rules: override.Select(policies, selector.TargetOf(template)).Rules(),
		Revise: r.revise(ctx, b, template.GroupVersionKind()),
	}, nil
}

// revise returns the function that sets the replicas of a binding's template; nil if the hub does not set them.
func (r *reconciler) revise(ctx context.Context, b kube.Binding, kind schema.GroupVersionKind) revision.Revise {
	if !bindings.IsWorkload(b.BindingSpec()) || !r.interpreter.Has(kind, interpreter.ReviseReplica) {
		return nil
	}
	return func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
		return r.interpreter.ReviseReplicas(ctx, obj, replicas)
	}
}

// isSame returns whether the live content equals that of a stored revision by the current rules. If the stored one cannot be read, it does
// not.
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

// reviseOf returns the functions that set the replicas of the parts.
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
