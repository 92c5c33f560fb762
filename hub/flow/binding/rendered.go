package binding

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/binding/render"
)

// Renderer tells other stages what this stage would render. It is safe for concurrent use.
type Renderer struct {
	hubReader   client.Reader
	interpreter interpreter.Interpreter
	prefix      string
}

// NewRenderer returns a renderer that reads Clusters from a cache. The prefix is that of execution namespaces.
func NewRenderer(cached client.Reader, kinds interpreter.Interpreter, prefix string) *Renderer {
	return &Renderer{hubReader: cached, interpreter: kinds, prefix: prefix}
}

// IsRendered returns whether a Work of a binding, cached without its manifests, is what the content of a revision renders to, with the
// replicas that the Work has.
func (r *Renderer) IsRendered(ctx context.Context, b kube.Binding, work *workv1alpha1.Work, content revision.Content) (bool, error) {
	name, ok := contract.ClusterOf(r.prefix, work.Namespace)
	if !ok || content.Main.Object == nil || bindings.IDOf(b) == "" {
		return false, nil
	}
	cluster := &clusterv1alpha1.Cluster{}
	if err := r.hubReader.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading cluster %q: %w", name, err)
	}
	for _, target := range bindings.Targets(b.BindingSpec()) {
		if target.Name == name {
			return isRendered(render.Input{
				Template: content.Main.Template(), Binding: b, Target: target, Cluster: cluster, Overrides: override.Of(content.Main.Rules),
				Revise: revise(ctx, r.interpreter, content.Main.Object.GroupVersionKind()), ExecutionNamespacePrefix: r.prefix,
			}, work), nil
		}
	}
	return false, nil
}

// isRendered returns whether a Work is what the input renders to, with the replicas that the Work has. It returns false if the input cannot
// be rendered.
func isRendered(in render.Input, work *workv1alpha1.Work) bool {
	if replicas, err := strconv.ParseInt(work.Annotations[contract.ReplicasAnnotation], 10, 32); err == nil {
		in.Target.Replicas = int32(replicas)
	}
	made, err := render.Work(in)
	return err == nil && made.Annotations[contract.ManifestHashAnnotation] == work.Annotations[contract.ManifestHashAnnotation]
}
