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

// Lender lends shared hubs to the packages of one test run, each to one package at a time: starting one and installing
// the CRDs costs more processor time than the tests of many packages, while removing a package's leftovers costs next
// to none. A borrower holds a connection, so that its hub is returned even if it crashes.
type Lender struct {
	// Log is told which hubs are not lent again, and why.
	Log io.Writer

	mu   sync.Mutex
	free []*loan
	all  []*loan
	// loans counts the open connections.
	loans sync.WaitGroup
}

// loan is a hub that is lent, and the contents of its database before the first loan.
type loan struct {
	hub    *Cluster
	store  *store
	before revisions
}

// offer is the answer of a Lender: a hub, or an error.
type offer struct {
	DataDir    string `json:"dataDir,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Error      string `json:"error,omitempty"`
}

func (o offer) send(conn net.Conn) error { return json.NewEncoder(conn).Encode(o) }

// Serve lends a hub to each connection until the listener is closed, and then stops all hubs.
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
		_ = offer{Error: err.Error()}.send(conn) // the borrower may be gone
		return
	}
	if err := (offer{DataDir: of.hub.DataDir, Kubeconfig: of.hub.Kubeconfig}).send(conn); err == nil {
		_, _ = io.Copy(io.Discard, conn) // until the borrower closes its end or dies
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

// takeBack restores the original contents of a hub. If that fails, the hub is stopped.
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
	of.hub.process.Kill() // its data is removed at the end
}

// borrow returns a hub of the Lender named by the environment, or nil if there is none. The hub is given back by stop,
// or when this process ends.
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

// accept reads the offer.
func accept(ctx context.Context, conn *net.UnixConn, o Options) (*Cluster, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // which ends the read
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

// giveBack waits until the hub can be lent again, so that no new hub is started for the next borrower meanwhile.
func giveBack(lent *net.UnixConn) error {
	if err := lent.CloseWrite(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, lent)
	return errors.Join(err, lent.Close())
}
