/**
 * Describes the methods of the contract: their messages, whether they hash a password, and whether they change
 * nothing.
 */

import type { Method } from "./calls.js";
import * as pb from "./generated/rolegate/auth/v1/auth.js";

export const VERIFY_CREDENTIALS = {
  name: "VerifyCredentials",
  request: pb.VerifyCredentialsRequest,
  response: pb.VerifyCredentialsResponse,
  hashes: true,
} satisfies Method<pb.VerifyCredentialsRequest, pb.VerifyCredentialsResponse>;

export const LOGIN = {
  name: "Login",
  request: pb.LoginRequest,
  response: pb.LoginResponse,
  hashes: true,
} satisfies Method<pb.LoginRequest, pb.LoginResponse>;

export const CREATE_SESSION = {
  name: "CreateSession",
  request: pb.CreateSessionRequest,
  response: pb.CreateSessionResponse,
  hashes: true,
} satisfies Method<pb.CreateSessionRequest, pb.CreateSessionResponse>;

export const REGISTER = {
  name: "Register",
  request: pb.RegisterRequest,
  response: pb.RegisterResponse,
  hashes: true,
} satisfies Method<pb.RegisterRequest, pb.RegisterResponse>;

export const AUTHORIZE = {
  name: "Authorize",
  request: pb.AuthorizeRequest,
  response: pb.AuthorizeResponse,
  isRead: true,
} satisfies Method<pb.AuthorizeRequest, pb.AuthorizeResponse>;

export const BATCH_AUTHORIZE = {
  name: "BatchAuthorize",
  request: pb.BatchAuthorizeRequest,
  response: pb.BatchAuthorizeResponse,
  isRead: true,
} satisfies Method<pb.BatchAuthorizeRequest, pb.BatchAuthorizeResponse>;

export const CREATE_USER = {
  name: "CreateUser",
  request: pb.CreateUserRequest,
  response: pb.CreateUserResponse,
  hashes: true,
} satisfies Method<pb.CreateUserRequest, pb.CreateUserResponse>;

export const SET_USER_DISABLED = {
  name: "SetUserDisabled",
  request: pb.SetUserDisabledRequest,
  response: pb.SetUserDisabledResponse,
} satisfies Method<pb.SetUserDisabledRequest, pb.SetUserDisabledResponse>;

export const UPDATE_USER = {
  name: "UpdateUser",
  request: pb.UpdateUserRequest,
  response: pb.UpdateUserResponse,
} satisfies Method<pb.UpdateUserRequest, pb.UpdateUserResponse>;

export const SET_USER_ROLE = {
  name: "SetUserRole",
  request: pb.SetUserRoleRequest,
  response: pb.SetUserRoleResponse,
} satisfies Method<pb.SetUserRoleRequest, pb.SetUserRoleResponse>;

export const LIST_USERS = {
  name: "ListUsers",
  request: pb.ListUsersRequest,
  response: pb.ListUsersResponse,
  isRead: true,
} satisfies Method<pb.ListUsersRequest, pb.ListUsersResponse>;

export const GET_USER = {
  name: "GetUser",
  request: pb.GetUserRequest,
  response: pb.GetUserResponse,
  isRead: true,
} satisfies Method<pb.GetUserRequest, pb.GetUserResponse>;

export const DELETE_USER = {
  name: "DeleteUser",
  request: pb.DeleteUserRequest,
  response: pb.DeleteUserResponse,
} satisfies Method<pb.DeleteUserRequest, pb.DeleteUserResponse>;

export const SET_PASSWORD = {
  name: "SetPassword",
  request: pb.SetPasswordRequest,
  response: pb.SetPasswordResponse,
  hashes: true,
} satisfies Method<pb.SetPasswordRequest, pb.SetPasswordResponse>;

export const CREATE_PASSWORD_LINK = {
  name: "CreatePasswordLink",
  request: pb.CreatePasswordLinkRequest,
  response: pb.CreatePasswordLinkResponse,
} satisfies Method<pb.CreatePasswordLinkRequest, pb.CreatePasswordLinkResponse>;

export const REDEEM_PASSWORD_LINK = {
  name: "RedeemPasswordLink",
  request: pb.RedeemPasswordLinkRequest,
  response: pb.RedeemPasswordLinkResponse,
  hashes: true,
} satisfies Method<pb.RedeemPasswordLinkRequest, pb.RedeemPasswordLinkResponse>;

export const GET_PASSWORD_LINK = {
  name: "GetPasswordLink",
  request: pb.GetPasswordLinkRequest,
  response: pb.GetPasswordLinkResponse,
  // The call is not a read, because the client may repeat reads, and a wrong token would then count as two
  // attempts.
} satisfies Method<pb.GetPasswordLinkRequest, pb.GetPasswordLinkResponse>;

export const GET_PASSWORD_POLICY = {
  name: "GetPasswordPolicy",
  request: pb.GetPasswordPolicyRequest,
  response: pb.GetPasswordPolicyResponse,
  isRead: true,
} satisfies Method<pb.GetPasswordPolicyRequest, pb.GetPasswordPolicyResponse>;

export const ENROL_SECOND_FACTOR = {
  name: "EnrolSecondFactor",
  request: pb.EnrolSecondFactorRequest,
  response: pb.EnrolSecondFactorResponse,
  hashes: true,
} satisfies Method<pb.EnrolSecondFactorRequest, pb.EnrolSecondFactorResponse>;

export const ENABLE_SECOND_FACTOR = {
  name: "EnableSecondFactor",
  request: pb.EnableSecondFactorRequest,
  response: pb.EnableSecondFactorResponse,
} satisfies Method<pb.EnableSecondFactorRequest, pb.EnableSecondFactorResponse>;

export const DISABLE_SECOND_FACTOR = {
  name: "DisableSecondFactor",
  request: pb.DisableSecondFactorRequest,
  response: pb.DisableSecondFactorResponse,
} satisfies Method<pb.DisableSecondFactorRequest, pb.DisableSecondFactorResponse>;

export const GET_SECOND_FACTOR = {
  name: "GetSecondFactor",
  request: pb.GetSecondFactorRequest,
  response: pb.GetSecondFactorResponse,
  isRead: true,
} satisfies Method<pb.GetSecondFactorRequest, pb.GetSecondFactorResponse>;

export const CHANGE_PASSWORD = {
  name: "ChangePassword",
  request: pb.ChangePasswordRequest,
  response: pb.ChangePasswordResponse,
  hashes: true,
} satisfies Method<pb.ChangePasswordRequest, pb.ChangePasswordResponse>;

export const REVOKE_TOKENS = {
  name: "RevokeTokens",
  request: pb.RevokeTokensRequest,
  response: pb.RevokeTokensResponse,
} satisfies Method<pb.RevokeTokensRequest, pb.RevokeTokensResponse>;

export const CREATE_API_KEY = {
  name: "CreateApiKey",
  request: pb.CreateApiKeyRequest,
  response: pb.CreateApiKeyResponse,
} satisfies Method<pb.CreateApiKeyRequest, pb.CreateApiKeyResponse>;

export const LIST_API_KEYS = {
  name: "ListApiKeys",
  request: pb.ListApiKeysRequest,
  response: pb.ListApiKeysResponse,
  isRead: true,
} satisfies Method<pb.ListApiKeysRequest, pb.ListApiKeysResponse>;

export const DELETE_API_KEYS = {
  name: "DeleteApiKeys",
  request: pb.DeleteApiKeysRequest,
  response: pb.DeleteApiKeysResponse,
} satisfies Method<pb.DeleteApiKeysRequest, pb.DeleteApiKeysResponse>;

export const LIST_SESSIONS = {
  name: "ListSessions",
  request: pb.ListSessionsRequest,
  response: pb.ListSessionsResponse,
  isRead: true,
} satisfies Method<pb.ListSessionsRequest, pb.ListSessionsResponse>;

export const DELETE_SESSIONS = {
  name: "DeleteSessions",
  request: pb.DeleteSessionsRequest,
  response: pb.DeleteSessionsResponse,
} satisfies Method<pb.DeleteSessionsRequest, pb.DeleteSessionsResponse>;

export const GET_CURRENT_USER = {
  name: "GetCurrentUser",
  request: pb.GetCurrentUserRequest,
  response: pb.GetCurrentUserResponse,
  isRead: true,
} satisfies Method<pb.GetCurrentUserRequest, pb.GetCurrentUserResponse>;

export const LIST_ROLES = {
  name: "ListRoles",
  request: pb.ListRolesRequest,
  response: pb.ListRolesResponse,
  isRead: true,
} satisfies Method<pb.ListRolesRequest, pb.ListRolesResponse>;

export const CREATE_GROUP = {
  name: "CreateGroup",
  request: pb.CreateGroupRequest,
  response: pb.CreateGroupResponse,
} satisfies Method<pb.CreateGroupRequest, pb.CreateGroupResponse>;

export const LIST_GROUPS = {
  name: "ListGroups",
  request: pb.ListGroupsRequest,
  response: pb.ListGroupsResponse,
  isRead: true,
} satisfies Method<pb.ListGroupsRequest, pb.ListGroupsResponse>;

export const GET_GROUP = {
  name: "GetGroup",
  request: pb.GetGroupRequest,
  response: pb.GetGroupResponse,
  isRead: true,
} satisfies Method<pb.GetGroupRequest, pb.GetGroupResponse>;

export const DELETE_GROUP = {
  name: "DeleteGroup",
  request: pb.DeleteGroupRequest,
  response: pb.DeleteGroupResponse,
} satisfies Method<pb.DeleteGroupRequest, pb.DeleteGroupResponse>;

export const LIST_MEMBERS = {
  name: "ListMembers",
  request: pb.ListMembersRequest,
  response: pb.ListMembersResponse,
  isRead: true,
} satisfies Method<pb.ListMembersRequest, pb.ListMembersResponse>;

export const SET_MEMBERSHIP = {
  name: "SetMembership",
  request: pb.SetMembershipRequest,
  response: pb.SetMembershipResponse,
} satisfies Method<pb.SetMembershipRequest, pb.SetMembershipResponse>;

export const DELETE_MEMBERSHIP = {
  name: "DeleteMembership",
  request: pb.DeleteMembershipRequest,
  response: pb.DeleteMembershipResponse,
} satisfies Method<pb.DeleteMembershipRequest, pb.DeleteMembershipResponse>;

export const LIST_USER_GROUPS = {
  name: "ListUserGroups",
  request: pb.ListUserGroupsRequest,
  response: pb.ListUserGroupsResponse,
  isRead: true,
} satisfies Method<pb.ListUserGroupsRequest, pb.ListUserGroupsResponse>;

export const LIST_AUDIT = {
  name: "ListAudit",
  request: pb.ListAuditRequest,
  response: pb.ListAuditResponse,
  isRead: true,
} satisfies Method<pb.ListAuditRequest, pb.ListAuditResponse>;

export const WATCH_USERS = {
  name: "WatchUsers",
  request: pb.WatchUsersRequest,
  response: pb.WatchUsersResponse,
} satisfies Method<pb.WatchUsersRequest, pb.WatchUsersResponse>;

export const BATCH_GET_USERS = {
  name: "BatchGetUsers",
  request: pb.BatchGetUsersRequest,
  response: pb.BatchGetUsersResponse,
  isRead: true,
} satisfies Method<pb.BatchGetUsersRequest, pb.BatchGetUsersResponse>;
