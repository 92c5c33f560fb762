package v1alpha1

// MaxStatuses is how many bytes the statuses of the objects of a Work have together; what is beyond it is not reported.
const MaxStatuses = 256 << 10

// StatusRoom is how many of these bytes are left. They are taken in the order of the statuses, and one for which there are too few is left
// out alone.
type StatusRoom int

// Take takes bytes of what is left, and says whether there were enough.
func (r *StatusRoom) Take(bytes int) bool {
	if bytes > int(*r) {
		return false
	}
	*r -= StatusRoom(bytes)
	return true
}
