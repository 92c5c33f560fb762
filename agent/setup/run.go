package setup

import (
	"context"
	"errors"
	"fmt"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution"
	"fairlead.dev/agent/outage"
	"fairlead.dev/agent/presence"
	"fairlead.dev/common/kube"
)

// kindsAnewEvery is the minimum time between restarts for kinds that are served elsewhere.
const kindsAnewEvery = 5 * time.Minute

// Run runs the agent of one member until the context ends, which is no error. If the hub or the member was restored
// from an older snapshot, or the member serves a kind under another resource than before, it restarts the agent
// within the process.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	for {
		err := serve(ctx, o)
		restored, changed := find[*presence.RestoredError](err), find[*execution.KindChangedError](err)
		if ctx.Err() != nil || restored == nil && changed == nil {
			return err
		}
		if restored != nil && restored.Whose == "member" && o.MemberRestored != nil {
			o.MemberRestored()
		}
		var reason error = restored
		if restored == nil {
			reason, o.kindsAnewFrom = changed, o.Clock.Now().Add(kindsAnewEvery)
		}
		ctrl.LoggerFrom(ctx).Info("Starting anew", "Cluster", o.Cluster, "reason", reason.Error())
	}
}

// find returns the error of a type; its zero value if there is none. If something took too long to stop, the manager
// joins the error with its own in a way that errors.As does not look into. Whatever is still stopping then has lost
// its context: it can only finish its present request, which carries a version or UID as precondition.
func find[E interface {
	error
	comparable
}](err error) (none E) {
	if found, ok := errors.AsType[E](err); ok {
		return found
	}
	if all, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		for _, one := range all.Errors() {
			if found := find[E](one); found != none {
				return found
			}
		}
	}
	return none
}

// serve runs the agent once.
func serve(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scheme, err := kube.NewScheme()
	if err != nil {
		return err
	}
	o.outage = outage.New()
	o.Hub, o.Line.isSlow = Asking(o.Hub, o.Compress, o.outage, o.Clock)
	asking := rest.CopyConfig(o.Hub)
	asking.Timeout = answerTimeout
	hub, err := client.New(asking, client.Options{Scheme: scheme, Mapper: hubMapper()})
	if err != nil {
		return fmt.Errorf("connecting to the hub: %w", err)
	}
	known := remember(ctx, o)
	namespace, err := known.where(ctx, hub, o)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Serving the cluster", "Cluster", o.Cluster, "namespace", namespace, "journaled", len(known.works))

	m, err := connectMember(o, scheme)
	if err != nil {
		return err
	}
	mgr, err := newManager(ctx, o, scheme, namespace)
	if err != nil {
		return err
	}
	if err := m.addTo(mgr); err != nil {
		return err
	}
	moved := ""
	if err := known.confirm(mgr, hub, o, &moved); err != nil {
		return err
	}
	if err := known.addTo(mgr); err != nil {
		return err
	}
	st, err := newStages(ctx, mgr, hub, m, known, namespace, o)
	if err != nil {
		return err
	}
	if err := st.register(ctx); err != nil {
		return err
	}
	err = mgr.Start(ctx)
	if moved != "" {
		known.journal.Begin(moved)
	}
	if err != nil {
		return fmt.Errorf("running the agent: %w", err)
	}
	return nil
}
