package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// RecordName is the name of the ConfigMap in kube-system with the status of scheduled backups.
const RecordName = "fairlead-hub-backups"

// recordKey is the key in that ConfigMap.
const recordKey = "record"

// Record is the status of scheduled backups. With hubs on several machines, the leader writes it.
type Record struct {
	// Host and Directory are where the next backup will be stored.
	Host      string `json:"host"`
	Directory string `json:"directory"`
	// Every is the interval of backups.
	Every metav1.Duration `json:"every"`
	// Last is the newest backup; nil if there is none yet.
	Last *ScheduledBackup `json:"last,omitempty"`
	// FailingSince is since when backups fail, and Failure why; zero if they do not fail.
	FailingSince metav1.Time `json:"failingSince,omitzero"`
	Failure      string      `json:"failure,omitempty"`
}

// ScheduledBackup is a backup that was made on a schedule.
type ScheduledBackup struct {
	// File is its path on Host.
	File string `json:"file"`
	Host string `json:"host"`
	// At is when it was made.
	At metav1.Time `json:"at"`
	// Sealed says whether it is sealed.
	Sealed bool `json:"sealed"`
	// Verified is the result of verifying the backup.
	Verified Verified `json:"verified"`
}

// overdueAfter is the age, in multiples of Every, at which the newest backup is overdue. The alert rule uses the same.
const overdueAfter = 2

// IsOverdue says whether there is a newest backup, and it is overdue.
func (r Record) IsOverdue(now time.Time) bool {
	return r.Last != nil && now.Sub(r.Last.At.Time) > overdueAfter*r.Every.Duration
}

// ReadRecord reads the status of scheduled backups; nil if the hub was never configured to make any.
func ReadRecord(ctx context.Context, hubReader client.Reader) (*Record, error) {
	object := newRecordObject()
	err := hubReader.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading how backups fare: %w", err)
	}
	record := &Record{}
	if err := json.Unmarshal([]byte(object.Data[recordKey]), record); err != nil {
		return nil, fmt.Errorf("reading how backups fare: ConfigMap %s in %s: %w", RecordName, metav1.NamespaceSystem, err)
	}
	return record, nil
}

func newRecordObject() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceSystem, Name: RecordName, Labels: map[string]string{contract.SystemLabel: contract.LabelTrue},
	}}
}

// write writes the record if it has changed.
func (r Record) write(ctx context.Context, hubClient client.Client) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding how backups fare: %w", err)
	}
	object := newRecordObject()
	err = hubClient.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		object.Data = map[string]string{recordKey: string(data)}
		if err := hubClient.Create(ctx, object, client.FieldOwner(contract.FieldManagerBackup)); err != nil {
			return fmt.Errorf("noting how backups fare: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading how backups fare: %w", err)
	}
	edit, err := kube.Begin(object)
	if err != nil {
		return err
	}
	object.Data = map[string]string{recordKey: string(data)}
	if _, err := edit.Commit(ctx, hubClient, contract.FieldManagerBackup); err != nil {
		return fmt.Errorf("noting how backups fare: %w", err)
	}
	return nil
}
