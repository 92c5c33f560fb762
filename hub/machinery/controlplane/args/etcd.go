package args

import "strconv"

// DefaultDatabaseQuota is the maximum size of the database file in bytes; etcd advises against more.
const DefaultDatabaseQuota int64 = 8 << 30

// Member is the only member of the etcd cluster.
type Member struct{ Name, PeerURL, Token string }

// EtcdMember returns the identity of the member; a restored database must have the same.
func EtcdMember() Member { return Member{Name: "etcd", PeerURL: etcdPeerURL, Token: "etcd-cluster"} }

// Etcd renders the command line of etcd, which listens on unix sockets only: only the user who started the control
// plane may open the working directory.
func Etcd(in Input) []string {
	member := EtcdMember()
	out := []string{
		"etcd",
		"--name=" + member.Name,
		"--data-dir=" + in.EtcdDir,
		"--listen-client-urls=" + etcdClientURL,
		"--advertise-client-urls=" + etcdClientURL,
		"--listen-peer-urls=" + member.PeerURL,
		"--initial-advertise-peer-urls=" + member.PeerURL,
		"--initial-cluster=" + member.Name + "=" + member.PeerURL,
		"--initial-cluster-token=" + member.Token,
		"--quota-backend-bytes=" + strconv.FormatInt(in.DatabaseQuota, 10),
		// A single member only replays its own log, so a shorter log costs nothing, and keeps memory and start-up time
		// small.
		"--snapshot-count=5000",
		"--log-level=info",
	}
	if in.UnsafeNoFsync {
		out = append(out, "--unsafe-no-fsync")
	}
	return out
}
