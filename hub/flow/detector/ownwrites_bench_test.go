package detector

import (
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/kube"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// BenchmarkOwnWrites measures eight workers that each write an object and then read it, or list its kind: with kube.Written, and with a
// client that waits until the cache shows all writes. See common/decisions/0004-own-writes.md.
func BenchmarkOwnWrites(b *testing.B) {
	hub := cluster.Shared(b, cluster.Options{Profile: cluster.Hub})
	for name, waits := range map[string]bool{"kube.Written": false, "waiting client": true} {
		for _, lists := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s, list=%t", name, lists), func(b *testing.B) {
				namespace := hub.Namespace(b)
				mgr := stagetest.Manager(b, hub.Config, func(o *manager.Options) {
					o.Client.Cache = &client.CacheOptions{EnableReadYourWritesConsistency: &waits}
				})
				if _, err := mgr.GetCache().GetInformer(b.Context(), &corev1.ConfigMap{}); err != nil {
					b.Fatal(err)
				}
				defer stagetest.Run(b, mgr)()
				if !mgr.GetCache().WaitForCacheSync(b.Context()) {
					b.Fatal("the cache did not sync")
				}
				written := kube.NewWritten[types.NamespacedName, *corev1.ConfigMap](clock.RealClock{})
				var n atomic.Int64
				b.SetParallelism(4) // times the number of processors, two
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("c-%d", n.Add(1))}}
						if err := writeAndSee(b, mgr.GetClient(), written, obj, lists); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

func writeAndSee(b *testing.B, c client.Client, written *kube.Written[types.NamespacedName, *corev1.ConfigMap], obj *corev1.ConfigMap, list bool) error {
	b.Helper()
	if err := c.Create(b.Context(), obj); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(obj)
	written.Put(key, obj)
	if list {
		return c.List(b.Context(), &corev1.ConfigMapList{}, client.InNamespace(obj.Namespace), client.Limit(1), client.UnsafeDisableDeepCopy)
	}
	seen := &corev1.ConfigMap{}
	err := client.IgnoreNotFound(c.Get(b.Context(), key, seen))
	if _, ok := written.Latest(key, seen, seen.UID != ""); !ok {
		b.Error("the object that was written is not read")
	}
	return err
}
