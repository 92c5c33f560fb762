package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
)

// PoolEnv names the environment variable with the socket of a Pool. Where it is set, the hub that the tests of a package share is
// borrowed there instead of started.
const PoolEnv = "FAIRLEAD_TEST_POOL"

// answer is what a pool says to whoever connects. The hub is the borrower's as long as the connection is open.
type answer struct {
	Kubeconfig string `json:"kubeconfig,omitempty"`
	DataDir    string `json:"dataDir,omitempty"`
	Error      string `json:"error,omitempty"`
}

// loan is the connection by which a hub of a pool is had.
type loan struct {
	conn net.Conn
	// over is closed when the pool has ended the connection, as it does when the hub has ended.
	over chan struct{}
}

// borrow returns a hub of the pool, with the CRDs installed.
func borrow(ctx context.Context, socket string, o Options) (*Cluster, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connecting to the pool that $%s names: %w", PoolEnv, err)
	}
	var a answer
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		_ = conn.Close() // nothing was written
		return nil, fmt.Errorf("borrowing a hub of the pool: %w", err)
	}
	if a.Error != "" {
		_ = conn.Close() // likewise
		return nil, fmt.Errorf("borrowing a hub of the pool: %s", a.Error)
	}
	l := &loan{conn: conn, over: make(chan struct{})}
	go func() {
		defer close(l.over)
		_, _ = io.Copy(io.Discard, conn) // that it ends is all that counts
	}()
	c := &Cluster{Name: o.Name, Kubeconfig: a.Kubeconfig, DataDir: a.DataDir, loan: l}
	c.client = sync.OnceValues(c.newClient)
	if err := c.configure(); err != nil {
		_ = l.conn.Close() // likewise
		return nil, err
	}
	return c, nil
}

// ended says whether the pool has ended the connection.
func (l *loan) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// borrowable says whether a pool has what is asked for: the hub that most packages share.
func (o Options) borrowable() bool { return o == Options{}.complete() }
