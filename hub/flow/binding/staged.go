package binding

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/hub/flow/binding/staging"
)

// materials are those of one binding, each made once.
type materials struct {
	// unstaged is the present template: what a cluster gets without a rollout.
	unstaged staging.Material
	// part is the present template as a part of a revision; its error is reported where a rollout applies.
	part    revision.Part
	partErr error
	revise  render.Revise
	made    map[string]staging.Material
	// reasons are why clusters have the object, if rollouts apply.
	reasons staging.Reasons
	// preserved returns whether the object stays in a cluster when it is deleted.
	preserved func(cluster string) bool
}

func (r *reconciler) materials(ctx context.Context, s *scope) *materials {
	m := &materials{
		unstaged: staging.Material{Template: s.template, Overrides: override.Select(s.policies, s.target()), Live: true},
		revise:   revise(ctx, r.interpreter, s.template.GroupVersionKind()),
		made:     map[string]staging.Material{}, preserved: bindings.Preserving(s.binding.BindingSpec()),
	}
	if len(s.rollouts) > 0 {
		m.reasons = staging.ReasonsOf(s.binding, s.rolloutNames())
		m.part, m.partErr = revision.MakePart(revision.Source{Template: s.template, Rules: m.unstaged.Overrides.Rules(), Revise: m.scaling(s.binding)})
	}
	return m
}

// scaling returns the function that sets the replicas of a binding's object, if the hub sets them.
func (m *materials) scaling(b kube.Binding) revision.Revise {
	if m.revise == nil || !bindings.IsWorkload(b.BindingSpec()) {
		return nil
	}
	return revision.Revise(m.revise)
}

// of returns the material for what a rollout gives.
func (m *materials) of(s *scope, c staging.Candidate) (staging.Material, error) {
	key := c.Rollout + " " + c.ID.String()
	if made, ok := m.made[key]; ok {
		return made, nil
	}
	if m.partErr != nil {
		return staging.Material{}, m.partErr
	}
	out, err := staging.MaterialOf(c.Part, m.part, s.template, m.scaling(s.binding))
	if err != nil {
		return staging.Material{}, err
	}
	m.made[key] = out
	return out, nil
}

// choose returns what a cluster gets of a binding, and by which rollout.
func (r *reconciler) choose(ctx context.Context, s *scope, target workv1alpha2.TargetCluster) (staging.Verdict, staging.Candidate, error) {
	if len(s.rollouts) == 0 {
		return staging.Live, staging.Candidate{}, nil
	}
	var candidates []staging.Candidate
	for _, f := range s.rollouts {
		if !s.materials.reasons.Has(target.Name, f.name) {
			continue
		}
		c, err := r.candidate(ctx, s, f, target)
		if err != nil {
			return staging.Keep, staging.Candidate{}, err
		}
		candidates = append(candidates, c)
	}
	verdict, candidate := staging.Choose(candidates, s.materials.reasons.Independent(target.Name))
	return verdict, candidate, nil
}

// stagedInput completes the input of a Work with what a rollout gives: the material, and the annotations that say which revision the Work
// has, and since when.
func (r *reconciler) stagedInput(ctx context.Context, s *scope, in render.Input, made staging.Material, c staging.Candidate, own *workv1alpha1.Work) (render.Input, error) {
	in.Template, in.Overrides = made.For(own, c.ID, c.Rollout), made.Overrides
	had, f := staging.RevisionOf(own, c.Rollout), s.rolloutNamed(c.Rollout)
	in.Annotations = map[string]string{contract.RevisionAnnotation: c.ID.String()}
	if c.Rollout != "" {
		in.Annotations[contract.RevisionOfAnnotation] = c.Rollout
	}
	since := annotation(own, contract.RevisionSinceAnnotation)
	switch {
	case had.Hash == c.ID.Hash:
		// It has that content, perhaps under another number, so there is nothing to write.
		in.Annotations[contract.RevisionAnnotation] = had.String()
	case own != nil && annotation(own, contract.RevisionAnnotation) == "" && !s.sent(c, in.Target.Name):
		// It existed before, and is what the revision renders to.
		since = own.CreationTimestamp.UTC().Format(time.RFC3339)
	case own != nil:
		changed, err := r.changed(ctx, s, f, own, c.ID, in.Target)
		if err != nil {
			return in, err
		}
		if changed {
			since = ""
		}
	default:
		since = ""
	}
	if since == "" {
		since = f.sentAt(c.ID, r.clock.Now()).UTC().Format(time.RFC3339)
	}
	in.Annotations[contract.RevisionSinceAnnotation] = since
	if generation := in.Template.GetGeneration(); generation > 0 {
		in.Annotations[contract.RevisionGenerationAnnotation] = strconv.FormatInt(generation, 10)
	}
	return in, nil
}

// unwritten removes the revision from a Work that is byte by byte the one from before the rollout. It counts as having that revision
// without being written.
func unwritten(desired, own *workv1alpha1.Work) {
	if own == nil || annotation(own, contract.RevisionAnnotation) != "" ||
		own.Annotations[contract.ManifestHashAnnotation] != desired.Annotations[contract.ManifestHashAnnotation] {
		return
	}
	for _, key := range []string{
		contract.RevisionAnnotation, contract.RevisionOfAnnotation, contract.RevisionSinceAnnotation, contract.RevisionGenerationAnnotation,
	} {
		delete(desired.Annotations, key)
	}
}

// sent returns whether the status of a rollout names a cluster with the revision of a candidate.
func (s *scope) sent(c staging.Candidate, cluster string) bool {
	f := s.rolloutNamed(c.Rollout)
	return f != nil && f.plan.Sent(cluster) == c.ID
}

func (s *scope) rolloutNames() []string {
	out := make([]string, len(s.rollouts))
	for i, f := range s.rollouts {
		out[i] = f.name
	}
	return out
}

func (s *scope) rolloutNamed(name string) *followed {
	for _, f := range s.rollouts {
		if f.name == name {
			return f
		}
	}
	return nil
}

// inPlace returns the Work of a cluster whose content must stay, with the replicas and the suspension that it should have now; nil if there
// is no Work.
func (r *reconciler) inPlace(ctx context.Context, s *scope, in render.Input, own *workv1alpha1.Work) (*workv1alpha1.Work, error) {
	if own == nil || !own.DeletionTimestamp.IsZero() || !s.rolling() || !render.NeedsRevision(in, own) {
		return nil, nil //nolint:nilnil // a missing Work is not created
	}
	live := &workv1alpha1.Work{}
	if err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(own), live); err != nil {
		return nil, fmt.Errorf("reading work %q in %q: %w", own.Name, own.Namespace, err)
	}
	return render.InPlace(in, live)
}

// rolling returns whether the rollouts that the binding follows have begun. Before that, the rollout stage still determines what the Works
// are, and they are not touched.
func (s *scope) rolling() bool {
	for _, f := range s.rollouts {
		if f.rollout == nil || f.rollout.RolloutStatus().Revision == 0 {
			return false
		}
	}
	return true
}

// renders returns whether a Work is what a part of a revision renders to, with the replicas that it has.
func (r *reconciler) renders(
	ctx context.Context, b kube.Binding, part revision.Part, work *workv1alpha1.Work, target workv1alpha2.TargetCluster, cluster *clusterv1alpha1.Cluster,
) bool {
	return isRendered(render.Input{
		Template: part.Template(), Binding: b, Target: target, Cluster: cluster, Revise: revise(ctx, r.interpreter, part.Object.GroupVersionKind()),
		Overrides: override.Of(part.Rules), ExecutionNamespacePrefix: r.prefix,
	}, work)
}

func annotation(w *workv1alpha1.Work, key string) string {
	if w == nil {
		return ""
	}
	return w.Annotations[key]
}

func splitName(name string) client.ObjectKey {
	namespace, rest, _ := strings.Cut(name, "/")
	return client.ObjectKey{Namespace: namespace, Name: rest}
}
