package clusterstatus

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/clusterstatus/facts"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// askAgain is the interval at which an agent without the right to read ResourceQuotas tries again.
const askAgain = 10 * time.Minute

// listQuotas lists all ResourceQuotas, and returns a function that replaces the known ones by them.
func (w *workload) listQuotas(ctx context.Context) (version string, take func(), err error) {
	fresh := facts.NewQuotas()
	version, err = pages(ctx, w.memberClient, func() *corev1.ResourceQuotaList { return &corev1.ResourceQuotaList{} }, func(list *corev1.ResourceQuotaList) {
		for i := range list.Items {
			fresh.Put(&list.Items[i])
		}
	})
	return version, func() { w.quotas = fresh }, err
}

// mayReadQuotas blocks until the agent may read ResourceQuotas. The RBAC of an agent that was installed by an older
// version lacks that right, and the agent works without.
func (w *workload) mayReadQuotas(ctx context.Context) bool {
	for told := false; ; told = true {
		err := w.memberClient.List(ctx, &corev1.ResourceQuotaList{}, client.Limit(1))
		w.mu.Lock()
		w.noRight = apierrors.IsForbidden(err)
		w.mu.Unlock()
		if !apierrors.IsForbidden(err) {
			return ctx.Err() == nil // the watch handles any other error
		}
		if !told {
			ctrl.LoggerFrom(ctx).Info("Not reporting what ResourceQuotas leave free, because this agent may not read them", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return false
		case <-w.clock.After(askAgain):
		}
	}
}

// Quotas returns what the ResourceQuotas leave in the namespaces that content returns; known is false before the
// quotas were read. Without quotas it does not call content. An agent that lost the right to read them withdraws its
// earlier report: otherwise nobody would ever use a namespace again that was full at that time.
func (w *workload) Quotas(content func() (sets.Set[string], error)) (report []clusterv1alpha1.NamespaceQuota, known bool) {
	w.mu.Lock()
	there, noRight := w.quotas.Any(), w.noRight || w.quotasUnread.reason == clusterv1alpha1.ReasonReadForbidden
	w.mu.Unlock()
	if noRight {
		return nil, true
	}
	select {
	case <-w.quotasHeard:
	default:
		return nil, false
	}
	if !there {
		return nil, true
	}
	namespaces, err := content() // without the lock, since it may take a moment
	if err != nil {
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.quotas.Report(namespaces), true
}
