package args

import "strconv"

// DefaultDatabaseQuota is how large the file of the database may become; etcd advises against more.
const DefaultDatabaseQuota int64 = 8 << 30

// Member is the only member of the database's cluster.
type Member struct{ Name, PeerURL, Token string }

// EtcdMember is under what name and where the database knows itself; a restored one is told the same.
func EtcdMember() Member { return Member{Name: "etcd", PeerURL: etcdPeerURL, Token: "etcd-cluster"} }

// Etcd renders the command line of etcd, which listens on unix sockets only: whoever may open the working directory is
// the one who started the control plane.
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
		// One member replays its log alone, so a shorter log costs nothing and keeps memory and start-up small.
		"--snapshot-count=5000",
		"--log-level=info",
	}
	if in.UnsafeNoFsync {
		out = append(out, "--unsafe-no-fsync")
	}
	return out
}
