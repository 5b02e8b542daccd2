"""Checks properties of this API that OpenAPI cannot express, and keeps the admin's account usable."""

import schemathesis

# The details of errors about rules that no schema can express: bytes, characters and normal forms, taken names, current
# passwords, links, times and roles.
BEYOND_SCHEMAS = {
    "Username already exists.",
    "Username must have 1 to 255 bytes.",
    "Username must be in Unicode normalization form C.",
    "Username must not contain invisible or unassigned characters.",
    "Title must not be all white space.",
    "Title must not contain invisible or unassigned characters.",
    "API key name must not begin or end with white space.",
    "API key name must not contain invisible or unassigned characters.",
    "API key expiry must be in the future.",
    "Session name must not begin or end with white space.",
    "Session name must not contain invisible or unassigned characters.",
    "Invalid role.",
    "Group name must be that of an existing group.",
    # The form of a position depends on the order of the list.
    'Query parameter "after" must be an id, a whole number from 0.',
    'Query parameter "after" must be the "next" of the previous page.',
    'Query parameter "include" must be times, groups or sign_in.',
    'Query parameter "events" cannot be combined with "event".',
    *(
        f'Query parameter "{name}" must be a time in RFC 3339, such as 2030-01-31T00:00:00Z, or a date, such as 2030-01-31.'
        for name in ("not_since", "ends_before", "since", "before")
    ),
    # This is refused for a key of another user.
    'Field "role" is required and must be a string.',
    "An admin creates their own API keys.",
    # This is refused for times before 1970.
    'Field "expires_at" must be a time in RFC 3339, such as 2030-01-31T00:00:00Z.',
    "Password must have at most 72 bytes.",
    "Current password is incorrect.",
    "Invalid or expired link.",
    # These are refused for users without a second factor.
    "Second factor is not begun.",
    "Second factor is not on.",
}

# The ids of the admin, whose token is used, and of the user to whom changes are applied.
ADMIN, GUINEA_PIG = 1, 2


@schemathesis.check
def rejected_beyond_the_schema(ctx, response, case):
    """Checks that data which satisfy the schema get a 400 only for these reasons."""
    mode = case.meta.generation.mode if case.meta else None
    if response.status_code == 400 and mode is not None and mode.is_positive:
        detail = response.json()["detail"]
        assert detail in BEYOND_SCHEMAS, f"{case.operation.label} satisfies the schema: {detail}"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Applies changes of the admin to the other user, because the admin must keep role, password and account."""
    parameters = case.path_parameters or {}
    if case.method != "GET" and str(parameters.get("user_id")) == str(ADMIN):
        parameters["user_id"] = GUINEA_PIG
