package rollout

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// adoption is a question to the renderer: is this Work what that revision renders?
type adoption struct {
	work     types.UID
	manifest string
	of       revision.ID
}

// adopt checks whether Works from before the rollout equal what the revision that was found when the strategy was added renders; if so,
// they have that revision. Content is that of the newest revision if it was made just now; otherwise it is read.
func (r *reconciler) adopt(ctx context.Context, s *scope, content *revision.Content) error {
	id := revision.Adopted(s.in.Status.Revisions)
	if id.Zero() {
		return nil
	}
	if id.Number != s.in.Status.Revision {
		content = nil
	}
	answers := map[adoption]bool{}
	for i := range s.in.Clusters {
		c := &s.in.Clusters[i]
		work := s.works[c.Cluster.Name]
		if work == nil || !c.Work.Revision.Zero() {
			continue
		}
		question := adoption{work: work.UID, manifest: work.Annotations[contract.ManifestHashAnnotation], of: id}
		answer, known := s.memory.adopts[question]
		if !known {
			if content == nil {
				kept, err := r.readKept(ctx, s.rollout, id)
				if err != nil || kept == nil {
					return err
				}
				content = &kept.Content
			}
			var err error
			if answer, err = r.renderer.IsRendered(ctx, s.binding, work, *content); err != nil {
				return fmt.Errorf("comparing the Work in %q with revision %d: %w", work.Namespace, id.Number, err)
			}
		}
		answers[question] = answer
		if answer {
			c.Work.Revision, c.Work.Unchanged = id, true
		}
	}
	s.memory.adopts = answers
	return nil
}

// workOf returns the state of a Work.
func workOf(work *workv1alpha1.Work, revisions []fairleadv1alpha1.RevisionStatus) judge.Work {
	if work == nil {
		return judge.Work{}
	}
	out := judge.Work{Exists: true, Revision: revision.Parse(work.Annotations[contract.RevisionAnnotation]), Report: reportOf(work)}
	since, err := time.Parse(time.RFC3339, work.Annotations[contract.RevisionSinceAnnotation])
	for _, r := range revisions {
		if err == nil && r.Number == out.Revision.Number {
			out.Unchanged = since.Before(r.CreatedAt.Time)
		}
	}
	return out
}
