package rollout

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// part is an object that an application needs by a revision, with its Works.
type part struct {
	ref   revision.Ref
	works map[string]*workv1alpha1.Work // by cluster
	// wanted are the clusters in which it is attached to the application.
	wanted map[string]bool
	// shared says that another rollout has a say, too: then the slower decides, and what that one holds up is not waited for, or two
	// rollouts whose first waves differ would wait for each other.
	shared bool
	// held are the clusters in which it is behind the application, and stays so, since one of the others does not say what it is to be there.
	held map[string]bool
}

// readParts reads the Works of what the application needs, if any revision by which clusters are judged needs something.
func (r *reconciler) readParts(ctx context.Context, s *scope) error {
	if err := r.readNeeds(ctx, s); err != nil {
		return err
	}
	needed := map[revision.Ref]bool{}
	for _, refs := range s.memory.needs {
		for _, ref := range refs {
			needed[ref] = true
		}
	}
	s.parts = nil
	if len(needed) == 0 {
		return nil
	}
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		found, err := kind.NeededBy(ctx, r.hubClient, s.key())
		if err != nil {
			return err
		}
		for _, b := range found {
			ref := refOf(&b.BindingSpec().Resource)
			if !needed[ref] || bindings.IsStaged(b) || !b.GetDeletionTimestamp().IsZero() {
				continue
			}
			p, err := r.readPart(ctx, s, b, ref)
			if err != nil {
				return err
			}
			s.parts = append(s.parts, p)
		}
	}
	return nil
}

// readNeeds reads what the newest revision needs, and the stable one while clusters catch up to that.
func (r *reconciler) readNeeds(ctx context.Context, s *scope) error {
	status := &s.in.Status
	needs := map[string][]revision.Ref{}
	for _, id := range []revision.ID{revision.Of(status.Revisions, status.Revision), revision.Of(status.Revisions, status.Stable)} {
		if id.Zero() || needs[id.Hash] != nil {
			continue
		}
		refs, known := s.memory.needs[id.Hash]
		if !known {
			kept, err := r.readKept(ctx, s.rollout, id)
			if err != nil {
				return err
			}
			if kept == nil {
				continue
			}
			refs = refsOf(kept.Content)
		}
		needs[id.Hash] = refs
	}
	s.memory.needs = needs
	return nil
}

func (r *reconciler) readPart(ctx context.Context, s *scope, b kube.Binding, ref revision.Ref) (part, error) {
	p := part{ref: ref, wanted: map[string]bool{}}
	works, err := r.worksOf(ctx, b)
	if err != nil {
		return part{}, err
	}
	p.works = works
	var sharers []sharer
	for _, by := range bindings.Snapshots(b.BindingSpec()) {
		switch key := (client.ObjectKey{Namespace: by.Namespace, Name: by.Name}); {
		case key == s.key():
			for _, c := range by.Clusters {
				p.wanted[c.Name] = true
			}
		case by.Name != "" && revision.Leads(by.Namespace, b.GetNamespace()):
			other := kube.BindingsIn(by.Namespace).New()
			if err := r.hubClient.Get(ctx, key, other, client.UnsafeDisableDeepCopy); err == nil && bindings.IsStaged(other) {
				sharers = append(sharers, sharer{binding: other, clusters: by.Clusters})
			}
		}
	}
	p.shared = len(sharers) > 0
	p.held, err = r.heldUp(ctx, s, &p, sharers)
	return p, err
}

func refOf(ref *workv1alpha2.ObjectReference) revision.Ref {
	return revision.Ref{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// refsOf are the objects that a content needs and leads; not nil.
func refsOf(content revision.Content) []revision.Ref {
	led := content.Led()
	out := make([]revision.Ref, 0, len(led))
	for _, d := range led {
		out = append(out, d.Ref())
	}
	return out
}

// workIn says what is known of the application in a cluster: of its Work, and of those of what that revision needs.
func (s *scope) workIn(cluster string) judge.Work {
	out := workOf(s.works[cluster], s.in.Status.Revisions)
	for i := range s.parts {
		p := &s.parts[i]
		if slices.Contains(s.memory.needs[out.Revision.Hash], p.ref) {
			out.Report = worse(out.Report, p.reportIn(cluster, s.key().String(), out.Revision, revision.Adopted(s.in.Status.Revisions)))
		}
	}
	return out
}

// reportIn is what is said of a part in a cluster whose application has a revision; that it is well if that is not waited for.
func (p *part) reportIn(cluster, rollout string, has, adopted revision.ID) judge.Report {
	waits, ignored := judge.Report{}, judge.Report{Current: true, Applied: true, Health: judge.Healthy}
	work := p.works[cluster]
	if work == nil {
		if p.shared || !p.wanted[cluster] {
			return ignored
		}
		return waits
	}
	id := revision.Parse(work.Annotations[contract.RevisionAnnotation])
	switch {
	case id.Zero() && has == adopted:
		return partReportOf(work) // It was there before, like the application, and is not written.
	case id.Zero() && p.shared, !id.Zero() && work.Annotations[contract.RevisionOfAnnotation] != rollout:
		return ignored
	case !isBehind(work, has):
		return partReportOf(work)
	case p.held[cluster]:
		return ignored
	}
	return waits
}

// isBehind says whether the Work of a part is to be replaced yet where the application has a revision.
func isBehind(work *workv1alpha1.Work, has revision.ID) bool {
	id := revision.Parse(work.Annotations[contract.RevisionAnnotation])
	return id.Number < has.Number && id.Hash != has.Hash
}
