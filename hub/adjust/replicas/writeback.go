package replicas

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/adjust/replicas/scale"
)

// untilListed is the delay until another check whether the first list of Deployments has arrived.
const untilListed = 100 * time.Millisecond

func deploymentKind() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("Deployment")
}

// isDeployment says whether a template is a Deployment.
func isDeployment(ref workv1alpha2.ObjectReference) bool {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind) == deploymentKind()
}

// writeback writes the replicas that members gave divided Deployments into their templates. It reconciles the bindings
// of Deployments.
type writeback struct {
	stage

	cache       cache.Cache
	deployments *deployments
}

// Reconcile writes back the replicas of one Deployment, if its label says that the members decide about them.
func (w *writeback) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	b := &workv1alpha2.ResourceBinding{}
	if err := w.hubClient.Get(ctx, req.NamespacedName, b, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !isDeployment(b.Spec.Resource) || !bindings.Divided(&b.Spec) || !b.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	c := scale.CountOf(b)
	if c.Wait != "" || c.Total == b.Spec.Replicas {
		return reconcile.Result{}, nil // a report or a change triggers the next reconcile
	}
	listed, err := w.deployments.listed(ctx)
	if !listed || err != nil {
		return reconcile.Result{RequeueAfter: untilListed}, err
	}
	key := client.ObjectKey{Namespace: b.Namespace, Name: b.Spec.Resource.Name}
	known := kube.MetadataOf(deploymentKind())
	if err := w.cache.Get(ctx, key, known, client.UnsafeDisableDeepCopy); err != nil || !isMarked(known) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{}, w.write(ctx, key, b, c)
}

// write sets the replicas of a template, unless somebody has changed them since the binding was written.
func (w *writeback) write(ctx context.Context, key client.ObjectKey, b *workv1alpha2.ResourceBinding, c scale.Count) error {
	template := &unstructured.Unstructured{}
	template.SetGroupVersionKind(deploymentKind())
	if err := w.liveReader.Get(ctx, key, template); err != nil {
		return client.IgnoreNotFound(err)
	}
	has, found, err := unstructured.NestedInt64(template.Object, "spec", "replicas")
	if err != nil || !found || has != int64(b.Spec.Replicas) || template.GetUID() != b.Spec.Resource.UID || !isMarked(template) {
		return nil //nolint:nilerr // the binding is stale; its next update enqueues it
	}
	edit, err := kube.Begin(template)
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedField(template.Object, int64(c.Total), "spec", "replicas"); err != nil {
		return fmt.Errorf("setting the replicas of %q: %w", key.Name, err)
	}
	if _, err := edit.Commit(ctx, w.hubClient, contract.FieldManagerReplicas); err != nil {
		return client.IgnoreNotFound(err)
	}
	ctrl.LoggerFrom(ctx).Info("Taking over the replicas that members have", "before", has, "replicas", c.Total)
	for _, e := range append(notBelieved(b, c), takenOver(b, has, c)) {
		w.events(e)
	}
	return nil
}

// isMarked says whether the members decide about the replicas of a template.
func isMarked(template metav1.Object) bool {
	return template.GetLabels()[contract.RetainReplicasLabel] == contract.LabelTrue
}

// deployments is the metadata informer for Deployments, which the detector needs anyway if a Deployment has a binding.
type deployments struct {
	informers *watchset.MetadataInformers

	mu       sync.Mutex
	informer cache.Informer
}

// listed says whether the informer has synced. Once started, the informer stays.
func (d *deployments) listed(ctx context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.informer == nil {
		informer, err := d.informers.Hold(ctx, deploymentKind())
		if err != nil {
			return false, err
		}
		d.informer = informer
	}
	return d.informer.HasSynced(), nil
}
