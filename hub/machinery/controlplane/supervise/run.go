package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
	"fairlead.dev/hub/machinery/controlplane/kwok"
	"fairlead.dev/hub/machinery/controlplane/process"
)

const (
	etcdName = "etcd"

	startPoll    = 50 * time.Millisecond
	startTimeout = 10 * time.Minute

	controllerGrace = 2 * time.Second
	apiServerGrace  = 5 * time.Second
	etcdGrace       = 2 * time.Second
)

// Report prints one line for the user.
type Report func(format string, args ...any)

// Run runs a control plane until the context ends, which is no error, or until an essential component fails.
func Run(ctx context.Context, cfg Config, clk clock.Clock, report Report) error {
	began := clk.Now()
	cfg, cidr, err := cfg.complete()
	if err != nil {
		return err
	}
	dir, err := datadir.Open(cfg.DataDir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if err := dir.CheckDatabase(cfg.Etcd); err != nil {
		return err
	}

	// 1. The addresses.
	in := inputOf(cfg, dir, cidr)
	if in.Port, err = choosePort(ctx, cfg, dir); err != nil {
		return err
	}
	own, err := listenPrivately(ctx, cfg, dir, &in)
	if err != nil {
		return err
	}
	defer own.close()

	// 2. The database, before anything is written that has to agree with it.
	store, err := openStore(ctx, cfg, dir, clk, report)
	if err != nil {
		return err
	}
	defer store.close()

	// 3. Keys and certificates, and the place of this hub among those that share an etcd.
	state, err := secure(cfg, dir, &in, clk.Now())
	if err != nil {
		return err
	}
	api, err := identify(ctx, cfg, dir, store, &in, clk.Now())
	if err != nil {
		return err
	}

	// 4. The components.
	group, err := newGroup(dir, clk, report)
	if err != nil {
		return err
	}
	r := run{
		Config: cfg, in: in, dir: dir, private: own, store: store, encryption: state, runDir: dir.Run(), logs: dir.Logs(),
		group: group, api: api, clock: clk, began: began, report: report,
	}
	return r.runComponents(ctx)
}

// runComponents runs the components and the upkeep until the control plane is to end, and then stops them.
func (r run) runComponents(ctx context.Context) error {
	looking, stop := context.WithCancel(ctx)
	r.upkeep = r.newUpkeep()
	defer func() {
		r.report("stopping")
		stop()
		r.upkeep.done.Wait()
		r.group.Stop()
		r.report("stopped")
	}()
	if err := r.start(ctx, looking); err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop before all was up
		}
		return err
	}
	return r.untilEnd(ctx)
}

// run is a control plane while it starts and runs.
type run struct {
	Config
	upkeep       *upkeep
	in           args.Input
	dir          *datadir.Dir
	private      *privateListener
	store        *store
	encryption   *encryption.State
	runDir, logs string
	group        *process.Group
	api          kubernetes.Interface
	clock        clock.Clock
	began        time.Time
	report       Report
}

// start starts the components, each once the ones that it needs answer, and the upkeep, which ends with the context looking.
func (r run) start(ctx, looking context.Context) error {
	if r.Etcd.Used() {
		r.report("starting kube-apiserver (profile %s)", r.Profile)
	} else {
		r.report("starting etcd and kube-apiserver (profile %s)", r.Profile)
		if err := r.startEtcd(ctx); err != nil {
			return err
		}
	}
	if err := r.runUpkeepFirst(ctx, looking); err != nil { // what follows writes
		return err
	}
	if err := r.encrypt(ctx); err != nil {
		return err
	}
	r.upkeep.start(looking)
	apiServer := process.Component{Name: "kube-apiserver", Args: args.APIServer(r.in), Files: r.private.files(), Essential: true, Grace: apiServerGrace}
	if err := r.group.Start(apiServer); err != nil {
		return err
	}
	r.private.close() // kube-apiserver has it now
	err := r.await(ctx, "kube-apiserver to be ready", r.isReady())
	if err != nil {
		return err
	}
	if r.WaitForHub {
		r.report("API server ready for the hub after %.1f s", r.clock.Since(r.began).Seconds())
	} else {
		r.report("API server ready at %s after %.1f s", r.in.AdvertisedURL(), r.clock.Since(r.began).Seconds())
	}

	for _, c := range r.controllers() {
		r.report("starting %s", c.Name)
		if err := r.group.Start(c); err != nil {
			return err
		}
	}
	if r.Profile != args.Cluster {
		return nil
	}
	if err := r.Nodes.Ensure(ctx, r.api); err != nil {
		return err
	}
	r.report("%d nodes in place after %.1f s", r.Nodes.Count, r.clock.Since(r.began).Seconds())
	return kwok.EnsureStorage(ctx, r.api)
}

// untilEnd waits until the context ends, a component fails, other hubs do not let this one go on, or only a restart helps.
func (r run) untilEnd(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-r.group.Failed():
		return err
	case err := <-r.upkeep.ended:
		return err
	case err := <-r.store.refused():
		return err
	}
}

func (r run) controllers() []process.Component {
	out := []process.Component{
		{Name: "kube-controller-manager", Args: args.ControllerManager(r.in), Grace: controllerGrace},
	}
	if r.Profile == args.Cluster {
		out = append(out,
			process.Component{Name: "kube-scheduler", Args: args.Scheduler(r.in), Grace: controllerGrace},
			process.Component{Name: "kwok", Args: args.KWOK(r.in), Grace: controllerGrace},
		)
	}
	if r.UnsafeExec {
		out = append(out, process.Component{Name: args.KubeletName, Args: args.Kubelet(r.in), Grace: controllerGrace})
	}
	return out
}

// startEtcd returns when etcd answers. If kube-apiserver started earlier, it would lose a second to its back-off.
func (r run) startEtcd(ctx context.Context) error {
	socket := filepath.Join(r.runDir, args.EtcdSocket)
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the socket of the last run: %w", err)
	}
	if r.store.isNew {
		if err := r.dir.BeginDatabase(); err != nil {
			return err
		}
	}
	etcd := process.Component{Name: etcdName, Args: args.Etcd(r.in), Essential: true, Grace: etcdGrace}
	if err := r.group.Start(etcd); err != nil {
		return err
	}
	err := r.await(ctx, "etcd to listen", func(context.Context) bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	if err != nil {
		return err
	}
	// Etcd listens before it has read its file, which takes minutes if the file is large.
	err = r.await(ctx, "etcd to answer", func(ctx context.Context) bool {
		client, err := database.Connect(ctx, r.dir)
		if err != nil {
			return false
		}
		_ = client.Close()
		return true
	})
	if err != nil || !r.store.isNew {
		return err
	}
	return r.dir.EndBeginning()
}

// runUpkeepFirst runs the upkeep once before anything writes, and fails if etcd ends meanwhile.
func (r run) runUpkeepFirst(ctx, looking context.Context) error {
	looked := make(chan struct{})
	r.upkeep.done.Go(func() {
		defer close(looked)
		r.upkeep.runOnce(looking, true)
	})
	return r.await(ctx, "the database to be looked at", func(context.Context) bool {
		select {
		case <-looked:
			return true
		default:
			return false
		}
	})
}

// isReady returns a function that asks kube-apiserver whether it is ready, and reports once if it waits for a KMS.
func (r run) isReady() func(context.Context) bool {
	told := false
	return func(ctx context.Context) bool {
		said, err := r.api.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Raw()
		if err != nil && !told && bytes.Contains(said, []byte("[-]kms-provider")) {
			told = true
			r.report("waiting for the KMS of --encryption-provider-config, which does not answer: start it, and look at the endpoint in that file")
		}
		return err == nil
	}
}

// await polls until a condition is met, and fails if an essential component fails.
func (r run) await(ctx context.Context, what string, met func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("waited %s for %s in vain; see the logs in %q", startTimeout, what, r.logs))
	defer cancel()
	var failed error
	err := wait.PollUntilContextCancel(ctx, startPoll, true, func(ctx context.Context) (bool, error) {
		select {
		case failed = <-r.group.Failed():
			return false, failed
		default:
			return met(ctx), nil
		}
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}
