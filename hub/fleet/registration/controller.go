package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/registration/approve"
)

// Deps are the dependencies of the stage.
type Deps struct {
	// ExecutionNamespacePrefix is the prefix of the names of execution namespaces, before the name of the cluster.
	ExecutionNamespacePrefix string
	// Events takes the events about requests, tokens and Clusters.
	Events eventsink.Sink
	// Clock is the hub's clock, by which tokens expire.
	Clock clock.PassiveClock
	// ManualApproval requires that an operator accepts every join, whatever its token says.
	ManualApproval bool
	// Workers is the number of Clusters whose rights are reconciled in parallel; 0 is the default. Requests are handled
	// one at a time, so that two of the same member see each other.
	Workers int
}

const defaultWorkers = 2

// Register adds the stage to a manager: controllers for requests, for rights, for the sessions of agents, and for
// members that leave.
func Register(ctx context.Context, mgr manager.Manager, deps Deps) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), deps)
	if err != nil {
		return err
	}
	workers := deps.Workers
	if workers == 0 {
		workers = defaultWorkers
	}
	for name, value := range map[string]client.IndexerFunc{requestsByUser: userOf, pendingByCluster: pendingFor} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &certificatesv1.CertificateSigningRequest{}, name, value); err != nil {
			return fmt.Errorf("indexing certificate requests by %s: %w", name, err)
		}
	}
	leaving := &leaveReconciler{hubClient: mgr.GetClient(), hubReader: mgr.GetAPIReader(), events: deps.Events, clock: deps.Clock}
	return errors.Join(r.register(mgr), r.rights.register(mgr, workers), newSessions(mgr.GetClient(), deps).register(mgr), leaving.register(mgr))
}

// Reconciler decides about the certificate signing requests of agents.
type Reconciler struct {
	hubClient client.Client
	hubReader client.Reader // live
	events    eventsink.Sink
	clock     clock.PassiveClock
	manual    bool
	rights    *Rights
}

// New returns a Reconciler of requests, with one of rights.
func New(hubClient client.Client, hubReader client.Reader, deps Deps) (*Reconciler, error) {
	if deps.ExecutionNamespacePrefix == "" || deps.Events == nil || deps.Clock == nil {
		return nil, errors.New("making the registration stage: prefix of execution namespaces, events and clock are needed")
	}
	return &Reconciler{
		hubClient: hubClient,
		hubReader: hubReader,
		events:    deps.Events,
		clock:     deps.Clock,
		manual:    deps.ManualApproval,
		rights: &Rights{
			hubClient: hubClient, hubReader: hubReader, prefix: deps.ExecutionNamespacePrefix, events: deps.Events, clock: deps.Clock,
		},
	}, nil
}

// Reconcile decides about one request. Before an approval it creates what the agent needs.
func (r *Reconciler) Reconcile(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (ctrl.Result, error) {
	request, ours := approve.Read(csr.Spec)
	switch {
	case !ours:
		return ctrl.Result{}, nil
	case len(csr.Status.Certificate) > 0:
		return r.issued(ctx, csr, request)
	case !pending(csr):
		return ctrl.Result{}, nil
	}
	if gone, err := r.bound(ctx, csr); gone || err != nil {
		return ctrl.Result{}, err
	}
	found, err := r.gather(ctx, csr, request)
	if err != nil {
		return ctrl.Result{}, err
	}
	decision := approve.Decide(found.input)
	if decision.Verdict == approve.Wait {
		return ctrl.Result{RequeueAfter: acceptancePoll}, r.hold(ctx, csr, decision)
	}
	if decision.Join {
		admitted, err := r.admit(ctx, csr, found)
		if apierrors.IsAlreadyExists(err) {
			return ctrl.Result{RequeueAfter: soon}, nil // somebody else created it first
		}
		if err != nil || !admitted {
			return ctrl.Result{RequeueAfter: wait}, err
		}
	}
	if decision.Adopt != "" {
		if err := r.adopt(ctx, found.cluster, decision.Adopt); err != nil {
			return ctrl.Result{}, err
		}
	}
	if decision.Reason == contract.ReasonNotTheLastCertificate {
		if err := r.recordCopied(ctx, found.cluster, request); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.conclude(ctx, csr, found, decision)
}

// issued does what remains once the certificate is issued.
func (r *Reconciler) issued(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, request approve.Request) (ctrl.Result, error) {
	if err := r.recordIssued(ctx, csr, request); err != nil {
		return ctrl.Result{}, err
	}
	later, err := r.closeToken(ctx, request.User)
	return ctrl.Result{RequeueAfter: later}, err
}

const (
	// soon is the delay before another look at an object that changed concurrently.
	soon = 10 * time.Millisecond
	// wait bounds the delay of a join if the event that should trigger a reconcile is missed.
	wait = time.Second
	// acceptancePoll is how often a join that waits for an operator is checked: its token may have been withdrawn.
	acceptancePoll = 10 * time.Second
)

// hold records and reports, once, that a join waits for an operator.
func (r *Reconciler) hold(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, decision approve.Decision) error {
	edit, err := kube.Begin(csr)
	if err != nil {
		return fmt.Errorf("editing request %q: %w", csr.Name, err)
	}
	metav1.SetMetaDataAnnotation(&csr.ObjectMeta, contract.PendingAnnotation, decision.Message)
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration)
	if err != nil {
		return fmt.Errorf("holding request %q: %w", csr.Name, err)
	}
	if wrote {
		ctrl.LoggerFrom(ctx).Info("Holding the request", "reason", decision.Message)
		r.events(concluded(csr, decision))
	}
	return nil
}

// conclude writes the decision to the request.
func (r *Reconciler) conclude(
	ctx context.Context, csr *certificatesv1.CertificateSigningRequest, found *found, decision approve.Decision,
) error {
	condition := certificatesv1.CertificateSigningRequestCondition{
		Type:           certificatesv1.CertificateApproved,
		Status:         corev1.ConditionTrue,
		Reason:         decision.Reason,
		Message:        decision.Message,
		LastUpdateTime: metav1.NewTime(r.clock.Now()),
	}
	if decision.Verdict == approve.Deny {
		condition.Type = certificatesv1.CertificateDenied
	}
	csr.Status.Conditions = append(csr.Status.Conditions, condition)
	err := r.hubClient.SubResource("approval").Update(ctx, csr, client.FieldOwner(contract.FieldManagerRegistration))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("concluding request %q: %w", csr.Name, err)
	}
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("Concluding the request", "verdict", string(decision.Verdict), "reason", decision.Reason, "message", decision.Message)
		r.events(concluded(csr, decision))
		if decision.Join {
			r.events(joined(found.cluster, decision))
		}
	}
	return nil
}

// pending says whether a request is undecided.
func pending(csr *certificatesv1.CertificateSigningRequest) bool {
	return len(csr.Status.Conditions) == 0 && len(csr.Status.Certificate) == 0
}
