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
	"fairlead.dev/hub/fleet/registration/approve"
)

// Deps are what the stage is given.
type Deps struct {
	// ExecutionNamespacePrefix is followed by the name of the cluster.
	ExecutionNamespacePrefix string
	// Events takes what becomes of requests.
	Events kube.EventSink
	// Clock is the hub's clock, by which tokens expire.
	Clock clock.PassiveClock
	// ManualApproval has an operator accept every join, whatever its token says.
	ManualApproval bool
	// Workers is how many Clusters are given rights at once; 0 means a default.
	// Requests are handled one by one, so that two of the same member see each other.
	Workers int
}

const defaultWorkers = 2

// Register adds the stage to a manager: one controller for requests, one for rights, one
// for the sessions of agents, and one for members that leave.
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

// Reconciler decides about certificate signing requests of agents.
type Reconciler struct {
	hubClient client.Client
	hubReader client.Reader // live
	events    kube.EventSink
	clock     clock.PassiveClock
	manual    bool
	rights    *Rights
}

// New returns a Reconciler of requests, which has one of rights.
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

// Reconcile decides about one request, and does what an approval needs before it.
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
			return ctrl.Result{RequeueAfter: soon}, nil // somebody else was first: look again
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

// issued does what is left to do when the certificate is there.
func (r *Reconciler) issued(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, request approve.Request) (ctrl.Result, error) {
	if err := r.recordIssued(ctx, csr, request); err != nil {
		return ctrl.Result{}, err
	}
	later, err := r.closeToken(ctx, request.User)
	return ctrl.Result{RequeueAfter: later}, err
}

const (
	// soon is when to look again at something that changed under us.
	soon = 10 * time.Millisecond
	// wait bounds how long a join waits when the event that should wake it is missed.
	wait = time.Second
	// acceptancePoll is how often to look at a join that nobody has accepted yet: its token may
	// have been withdrawn.
	acceptancePoll = 10 * time.Second
)

// hold tells, once, that an operator is to accept a join.
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

// conclude writes what was decided on the request.
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

// pending says whether a request is not decided yet.
func pending(csr *certificatesv1.CertificateSigningRequest) bool {
	return len(csr.Status.Conditions) == 0 && len(csr.Status.Certificate) == 0
}
