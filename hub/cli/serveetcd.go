package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// etcdProbeEvery is how often the API is asked whether its etcd responds, and etcdProbeTimeout how long that may
	// take.
	etcdProbeEvery   = 5 * time.Second
	etcdProbeTimeout = 4 * time.Second
)

// errEtcd says what to do about an external etcd.
var errEtcd = errors.New("the etcd that --etcd-servers names does not answer: look at its members with `etcdctl endpoint health`, " +
	"and start those that are down; the hub goes on by itself once a majority answers")

// etcdProbe checks whether the API's etcd responds. It logs changes, and contributes to /readyz.
type etcdProbe struct {
	ask    func(context.Context) error
	clock  clock.WithTicker
	silent atomic.Bool
}

// addEtcdProbe adds the probe to the manager.
func addEtcdProbe(mgr manager.Manager, cfg *rest.Config, clk clock.WithTicker) error {
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connecting to the hub's API: %w", err)
	}
	p := &etcdProbe{clock: clk, ask: func(ctx context.Context) error {
		return api.Discovery().RESTClient().Get().AbsPath("/readyz/etcd").Do(ctx).Error()
	}}
	return errors.Join(mgr.Add(p), mgr.AddReadyzCheck("etcd", p.check))
}

// Start implements manager.Runnable.
func (p *etcdProbe) Start(ctx context.Context) error {
	ticker := p.clock.NewTicker(etcdProbeEvery)
	defer ticker.Stop()
	for {
		p.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// look probes once.
func (p *etcdProbe) look(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, etcdProbeTimeout)
	defer cancel()
	err := p.ask(asking)
	if ctx.Err() != nil || p.silent.Swap(err != nil) == (err != nil) {
		return
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(errEtcd, "Nothing can be changed on the hub", "answer", err.Error())
		return
	}
	ctrl.LoggerFrom(ctx).Info("The etcd answers again")
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: hubs that are not the leader probe it, too.
func (*etcdProbe) NeedLeaderElection() bool { return false }

func (p *etcdProbe) check(*http.Request) error {
	if p.silent.Load() {
		return errEtcd
	}
	return nil
}
