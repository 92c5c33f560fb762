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
	// unstaged is the template as it is: what a cluster gets where no rollout has a say.
	unstaged staging.Material
	// part is the template as it is, as a part of a revision; its error is told where a rollout
	// has a say.
	part    revision.Part
	partErr error
	revise  render.Revise
	made    map[string]staging.Material
	// reasons are why clusters have the object, where a rollout has a say.
	reasons staging.Reasons
	// preserved says in which clusters the object stays when it goes.
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

// scaling returns what sets the replicas of a binding's object, if the hub sets them.
func (m *materials) scaling(b kube.Binding) revision.Revise {
	if m.revise == nil || !bindings.IsWorkload(b.BindingSpec()) {
		return nil
	}
	return revision.Revise(m.revise)
}

// of returns the material of what a rollout gives.
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

// choose says what a cluster gets of a binding, and by which rollout.
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

// stagedInput completes what a Work is rendered from by what a rollout gives: the material, and the
// annotations by which the Work says which revision it has. Changed is told when the content came.
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
		// It has that content, maybe under another number: there is nothing to write.
		in.Annotations[contract.RevisionAnnotation] = had.String()
	case own != nil && annotation(own, contract.RevisionAnnotation) == "" && !s.sent(c, in.Target.Name):
		// It was there before, and is what the revision renders.
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

// unwritten takes the revision off a Work that is what was there before the rollout, to the last
// byte: it counts as having that revision without being written.
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

// sent says whether the status of a rollout names a cluster with the revision of a candidate.
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

// inPlace returns the Work of a cluster whose content is to stay, with the replicas and the suspension
// that it is to have now; nil if there is no Work.
func (r *reconciler) inPlace(ctx context.Context, s *scope, in render.Input, own *workv1alpha1.Work) (*workv1alpha1.Work, error) {
	if own == nil || !own.DeletionTimestamp.IsZero() || !s.rolling() || !render.NeedsRevision(in, own) {
		return nil, nil //nolint:nilnil // Nothing is made where nothing is.
	}
	live := &workv1alpha1.Work{}
	if err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(own), live); err != nil {
		return nil, fmt.Errorf("reading work %q in %q: %w", own.Name, own.Namespace, err)
	}
	return render.InPlace(in, live)
}

// rolling says whether a rollout has begun of those that the binding follows. Before that, the rollout
// stage is about to say what its Works are, and nothing is done to them.
func (s *scope) rolling() bool {
	for _, f := range s.rollouts {
		if f.rollout == nil || f.rollout.RolloutStatus().Revision == 0 {
			return false
		}
	}
	return true
}

// renders says whether a Work is what a part of a revision renders, with the replicas that it has.
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
