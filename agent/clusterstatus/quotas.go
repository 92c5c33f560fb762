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

// askAgain is after how long an agent that may not read ResourceQuotas looks whether it may.
const askAgain = 10 * time.Minute

// listQuotas reads all ResourceQuotas, and returns what takes them over.
func (w *workload) listQuotas(ctx context.Context) (version string, take func(), err error) {
	fresh := facts.NewQuotas()
	version, err = pages(ctx, w.memberClient, func() *corev1.ResourceQuotaList { return &corev1.ResourceQuotaList{} }, func(list *corev1.ResourceQuotaList) {
		for i := range list.Items {
			fresh.Put(&list.Items[i])
		}
	})
	return version, func() { w.quotas = fresh }, err
}

// mayReadQuotas waits until the agent may read ResourceQuotas: the rights of one that was
// installed by an older version do not have them, and it does without.
func (w *workload) mayReadQuotas(ctx context.Context) bool {
	for told := false; ; told = true {
		err := w.memberClient.List(ctx, &corev1.ResourceQuotaList{}, client.Limit(1))
		w.mu.Lock()
		w.noRight = apierrors.IsForbidden(err)
		w.mu.Unlock()
		if !apierrors.IsForbidden(err) {
			return ctx.Err() == nil // whatever else is wrong the watch deals with
		}
		if !told {
			ctrl.LoggerFrom(ctx).Info("Not reporting what ResourceQuotas leave free, which this agent may not read", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return false
		case <-w.clock.After(askAgain):
		}
	}
}

// Quotas returns what the ResourceQuotas of the namespaces leave free that content returns;
// not known before they were read. It does not ask for the namespaces if there are no quotas.
// An agent that lost the right to read them takes back what it reported while it had it: nobody
// would open a namespace again that was full then.
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
	namespaces, err := content() // which may take a moment, and nobody else waits for it
	if err != nil {
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.quotas.Report(namespaces), true
}
