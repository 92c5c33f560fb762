package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
)

// LenderEnv names the unix socket of a Lender to the tests that may borrow from it.
const LenderEnv = "FAIRLEAD_TEST_LENDER"

// Lender lends shared hubs to the packages of one run of the tests, each to one at a time: to start one and to install the
// CRDs costs more processor time than many a package's tests, to remove what a package left in it next to none. Who borrows
// holds a connection, so that nothing that ends without a word keeps its hub.
type Lender struct {
	// Log is told which hubs are not lent again, and why.
	Log io.Writer

	mu   sync.Mutex
	free []*loan
	all  []*loan
	// loans are those who hold a connection.
	loans sync.WaitGroup
}

// loan is a hub that is lent, and what was in it before anybody had it.
type loan struct {
	hub    *Cluster
	store  *store
	before revisions
}

// offer is what a Lender answers: a hub, or why there is none.
type offer struct {
	DataDir    string `json:"dataDir,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Error      string `json:"error,omitempty"`
}

func (o offer) send(conn net.Conn) error { return json.NewEncoder(conn).Encode(o) }

// Serve lends a hub to each who connects, until the listener is closed. Then it stops all hubs.
func (l *Lender) Serve(ctx context.Context, listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			l.loans.Wait()
			if errors.Is(err, net.ErrClosed) {
				err = nil
			}
			return errors.Join(err, l.stop())
		}
		l.loans.Go(func() { l.lend(ctx, conn) })
	}
}

func (l *Lender) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, of := range l.all {
		errs = append(errs, of.hub.stop())
	}
	return errors.Join(errs...)
}

func (l *Lender) lend(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }() // the other end may have closed it
	of, err := l.take(ctx)
	if err != nil {
		_ = offer{Error: err.Error()}.send(conn) // or nobody waits for it any more
		return
	}
	if err := (offer{DataDir: of.hub.DataDir, Kubeconfig: of.hub.Kubeconfig}).send(conn); err == nil {
		_, _ = io.Copy(io.Discard, conn) // until the other end is closed, in whatever way
	}
	l.takeBack(ctx, of)
}

func (l *Lender) take(ctx context.Context) (*loan, error) {
	l.mu.Lock()
	if n := len(l.free); n > 0 {
		of := l.free[n-1]
		l.free = l.free[:n-1]
		l.mu.Unlock()
		return of, nil
	}
	l.mu.Unlock()

	hub, err := startShared(ctx, Options{}.complete())
	if err != nil {
		return nil, err
	}
	of := &loan{hub: hub, store: newStore(hub.DataDir)}
	l.mu.Lock()
	l.all = append(l.all, of)
	l.mu.Unlock()
	of.before, err = of.store.revisions(ctx)
	return of, err
}

// takeBack makes a hub what it was before. One for which that cannot be done is stopped.
func (l *Lender) takeBack(ctx context.Context, of *loan) {
	err := errors.New("it stopped by itself")
	if !of.hub.process.Ended() {
		err = of.store.restore(ctx, of.before)
	}
	if err == nil {
		l.mu.Lock()
		l.free = append(l.free, of)
		l.mu.Unlock()
		return
	}
	_, _ = fmt.Fprintf(l.Log, "the hub in %q is not lent again: %v\n", of.hub.DataDir, err)
	of.hub.process.Kill() // what it wrote goes at the end
}

// borrow returns a hub of the Lender that the environment names, or nil if it names none. It is given back when stop is
// called, or this process ends.
func borrow(ctx context.Context, o Options) (*Cluster, error) {
	path := os.Getenv(LenderEnv)
	if path == "" || o != (Options{}).complete() {
		return nil, nil //nolint:nilnil // it is not one of these, and nothing failed
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("asking for a hub: %w; unset %s to start one", err, LenderEnv)
	}
	c, err := accept(ctx, conn, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("borrowing a hub: %w", err), conn.Close())
	}
	return c, nil
}

// accept reads what is offered.
func accept(ctx context.Context, conn *net.UnixConn, o Options) (*Cluster, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // which ends the reading
	defer stop()
	var got offer
	if err := json.NewDecoder(conn).Decode(&got); err != nil {
		return nil, err
	}
	if got.Error != "" {
		return nil, errors.New(got.Error)
	}
	config, err := clientcmd.BuildConfigFromFlags("", got.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	c := &Cluster{Name: o.Name, Kubeconfig: got.Kubeconfig, DataDir: got.DataDir, Config: config, lent: conn}
	c.client = sync.OnceValues(c.newClient)
	return c, nil
}

// giveBack returns when the hub can be lent again: who asks next is not to have another started meanwhile.
func giveBack(lent *net.UnixConn) error {
	if err := lent.CloseWrite(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, lent)
	return errors.Join(err, lent.Close())
}
