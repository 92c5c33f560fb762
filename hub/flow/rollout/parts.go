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

// part is a dependency of an application in some revision, with its Works.
type part struct {
	ref   revision.Ref
	works map[string]*workv1alpha1.Work // by cluster
	// wanted are the clusters in which it is attached to the application.
	wanted map[string]bool
	// shared says that another rollout needs it, too. Then the slower rollout determines its revision, and this one does not wait for what
	// that one holds back: otherwise two rollouts whose first waves differ would wait for each other.
	shared bool
	// held are the clusters in which it stays behind the application because another rollout does not define its revision there.
	held map[string]bool
}

// readParts reads the dependencies in the revisions by which clusters are judged, with their Works.
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

// readNeeds reads the dependencies of the newest and of the stable revision, to which clusters catch up.
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

// refsOf returns the dependencies of a content that it leads; never nil.
func refsOf(content revision.Content) []revision.Ref {
	led := content.Led()
	out := make([]revision.Ref, 0, len(led))
	for _, d := range led {
		out = append(out, d.Ref())
	}
	return out
}

// workIn returns the state of the application in a cluster, by its Work and those of the dependencies of that Work's revision.
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

// reportIn returns the report on a part in a cluster where the application has a revision; a healthy one if the part is not waited for.
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
		return partReportOf(work) // Like the application's, the Work is from before the rollout, and is not rewritten.
	case id.Zero() && p.shared, !id.Zero() && work.Annotations[contract.RevisionOfAnnotation] != rollout:
		return ignored
	case !isBehind(work, has):
		return partReportOf(work)
	case p.held[cluster]:
		return ignored
	}
	return waits
}

// isBehind returns whether the Work of a part has an older revision, with other content, than the application.
func isBehind(work *workv1alpha1.Work, has revision.ID) bool {
	id := revision.Parse(work.Annotations[contract.RevisionAnnotation])
	return id.Number < has.Number && id.Hash != has.Hash
}
