package contract

// What an owner allows operators of the hub to do in a member is kept in the member, under one name in SystemNamespace.
const (
	// ConnectName is the name of the ServiceAccount that may only impersonate, of its rights, and of the ConfigMap with what
	// the owner allows. No Work changes any of these.
	ConnectName = "fairlead-connect"
	// ConnectUserPrefix comes before the names of operators and of their groups in a member, unless the owner says that
	// they are the same there as at the hub.
	ConnectUserPrefix = "fairlead:"
)

// Keys of the ConfigMap ConnectName. Values are lists with commas between, but for the identity.
const (
	ConnectOperatorsKey = "operators"
	ConnectMayKey       = "may"
	ConnectInKey        = "in"
	ConnectIdentityKey  = "identity"
	ConnectAPIGroupsKey = "apiGroups"
)
